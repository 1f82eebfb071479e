# SPDX-License-Identifier: Apache-2.0
"""Checks of the requirements of an NFS cluster, in the options and at Ceph. Changes nothing."""

import errno
from collections.abc import Iterator

from manila_lite import values
from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.nfs import check
from manila_lite.drivers.cephfs.nfs.options import NfsOptions

_MODULE = 'nfs'


def problems(conf: NfsOptions) -> Iterator[values.Problem]:
    """Yield every option that is wrong."""
    if conf.cephfs_ganesha_server_is_remote:
        yield check.REMOTE
        return
    yield from check.of_addresses(conf, 'cephfs_ganesha_export_ips')


def problems_at(cluster: Cluster, conf: NfsOptions) -> Iterator[values.Problem]:
    """Yield why the cluster cannot be used, as Ceph says.

    :raises Away: it does not answer.
    """
    modules = cluster.monitor('mgr module ls')
    if _MODULE not in (*modules.get('always_on_modules', ()), *modules.get('enabled_modules', ())):
        # Ceph itself would say that this is so for a moment, as it is while a manager starts.
        yield values.Problem(
            f"cephfs_nfs_cluster_id: the module {_MODULE} of Ceph's manager is not enabled",
            f'ceph mgr module enable {_MODULE}',
        )
        return
    name = conf.cephfs_nfs_cluster_id
    try:
        cluster.manager('nfs export ls', cluster_id=name)
    except Refused as refused:
        why = (
            'does not exist'
            if refused.number == errno.ENOENT
            else f'cannot be used ({_last_line(refused.said)})'
        )
        yield values.Problem(
            f'cephfs_nfs_cluster_id: the NFS cluster {name} {why}',
            '"ceph nfs cluster ls" shows those that there are; "ceph nfs cluster create" makes one',
        )


def _last_line(said: str) -> str:
    return said.strip().splitlines()[-1] if said.strip() else 'it says nothing'
