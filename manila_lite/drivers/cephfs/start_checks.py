# SPDX-License-Identifier: Apache-2.0
"""Checks before a start: files and programs of this machine, and what the cluster says, if it answers.

A cluster that does not answer is no problem here: it may be starting, and is waited for.
"""

import errno
import re
from collections.abc import Callable, Iterable, Iterator

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.answers import Away, Refused
from manila_lite.drivers.cephfs.cluster.cluster import Cluster, find_way
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.protocols.table import PROTOCOLS, protocol_of
from manila_lite.drivers.cephfs.volumes import objects, side_programs
from manila_lite.drivers.cephfs.volumes.subvolumes import choose_filesystem
from manila_lite.drivers.interface import Backend

LOG = log.getLogger(__name__)

#: The oldest release of Ceph with all that is used, and how it is named to operators.
_OLDEST, _OLDEST_NAME = (16, 2, 8), '16.2.8 (Pacific)'
#: Seconds that the cluster has for each answer.
_SECONDS = 5.0
_DENIED = (errno.EACCES, errno.EPERM)
#: A metadata server that is active and silent.
_SILENT = (
    f'the metadata server did not answer within {_SECONDS:g} s: it does so to a client without capabilities for it, and '
    'when it is overloaded; then start again when "ceph status" says that all is well'
)


def problems(backend: Backend) -> Iterator[values.Problem]:
    """Yield every problem. Changes nothing."""
    conf: CephfsOptions = backend.conf
    wanted = conf.cephfs_protocol_helper_type.upper()
    if wanted not in PROTOCOLS:
        yield values.Problem(
            f'cephfs_protocol_helper_type: {wanted} is not served', f'use {", ".join(sorted(PROTOCOLS))}'
        )
        return
    yield from protocol_of(conf).problems(backend)
    identity = Identity.of(conf)
    if find_way(identity) is None or not side_programs.can_run():
        yield values.Problem(
            'neither the Python bindings of Ceph nor the program ceph are installed, or not the bindings of '
            f'{side_programs.PYTHON}',
            'apt-get install python3-rados python3-cephfs ceph-common',
        )
        return
    try:
        identity.conf_path.read_text()
    except (OSError, UnicodeDecodeError) as bad:
        why = getattr(bad, 'strerror', None) or 'it is no text'
        yield values.Problem(
            f'cephfs_conf_path: {identity.conf_path} cannot be read ({why})',
            "name the cluster's configuration file, which names its monitors; by default it is "
            '/etc/ceph/ with the name in cephfs_cluster_name and .conf',
        )
        return
    yield from _of_cluster(backend, identity)


def _of_cluster(backend: Backend, identity: Identity) -> Iterator[values.Problem]:
    cluster = Cluster(lambda: _SECONDS, lambda: find_way(identity))
    try:
        for check in _CHECKS:
            found = list(check(cluster, backend, identity))
            yield from found
            if found:
                return
    except Away as away:
        LOG.warning('The cluster of %s cannot be checked now: %s', identity.conf_path, away)
    finally:
        cluster.close()


def _key(cluster: Cluster, backend: Backend, identity: Identity) -> Iterator[values.Problem]:
    """Check that the cluster lets the service in, and its release."""
    try:
        said = cluster.monitor('version')
    except Refused as refused:
        yield values.Problem(
            f'cephfs_auth_id: the cluster of {identity.conf_path} does not let {identity.entity} in '
            f'({refused.said})',
            'the file with its key must be named there ("keyring = ..."), or be '
            f'/etc/ceph/{identity.cluster}.{identity.entity}.keyring, and hold what '
            f'"ceph auth get {identity.entity}" shows; check cephfs_cluster_name, too',
        )
        return
    found = re.search(r'(\d{1,9})\.(\d{1,9})\.(\d{1,9})', str(said['version']))
    if found and tuple(map(int, found.groups())) < _OLDEST:
        yield values.Problem(f'the cluster runs Ceph {found[0]}', f'upgrade it to {_OLDEST_NAME} or later')


def _capabilities(cluster: Cluster, backend: Backend, identity: Identity) -> Iterator[values.Problem]:
    """Check what the service may do, and the file system."""
    conf: CephfsOptions = backend.conf
    hint = f"ceph auth caps {identity.entity} mon 'allow r' mgr 'allow rw' mds 'allow *' osd '{objects.CAPABILITY}'"
    try:
        there = sorted(one['name'] for one in cluster.monitor('fs ls'))
        cluster.manager('fs volume ls')
    except Refused as refused:
        if refused.number not in _DENIED:
            raise
        yield values.Problem(
            f'cephfs_auth_id: {identity.entity} may not do what the service needs ({refused.said})', hint
        )
        return
    try:
        filesystem = choose_filesystem(conf.cephfs_filesystem_name, there)
    except errors.Final as bad:
        yield values.Problem(
            str(bad).removesuffix('.'), 'name one of them, or create it with "ceph fs volume create"'
        )
        return
    yield from _pools(cluster, conf, filesystem)
    why = _why_sessions_stay(cluster, filesystem)
    if why:
        what = 'may not end sessions of clients that lost their access'
        yield values.Problem(f'cephfs_auth_id: {identity.entity} {what} ({why})', hint)


def _why_sessions_stay(cluster: Cluster, filesystem: str) -> str | None:
    """Return why the service cannot end sessions; None if it can, or no metadata server is active that can be asked.

    One does not answer at all if the service has no capabilities for it; one with too much work does not, either.
    """
    servers = [
        server
        for one in cluster.monitor('fs dump')['filesystems']
        if one['mdsmap']['fs_name'] == filesystem
        for server in one['mdsmap']['info'].values()
    ]
    active = any(server['state'] == 'up:active' for server in servers)
    try:
        cluster.metadata_server(f'{filesystem}:0', 'client ls', filters=['auth_name=nobody'])
    except Away:
        return _SILENT if active else None
    except Refused as refused:
        return str(refused) if refused.number in _DENIED else None
    return None


def _pools(cluster: Cluster, conf: CephfsOptions, filesystem: str) -> Iterator[values.Problem]:
    there = next(one['data_pools'] for one in cluster.monitor('fs ls') if one['name'] == filesystem)
    for name in conf.cephfs_data_pools:
        if name not in there:
            yield values.Problem(
                f'cephfs_data_pools: {name} is no data pool of the file system {filesystem}',
                f'it has {", ".join(there)}; "ceph fs add_data_pool" adds one',
            )


_CHECKS: tuple[Callable[[Cluster, Backend, Identity], Iterable[values.Problem]], ...] = (
    _key,
    _capabilities,
    lambda cluster, backend, _: protocol_of(backend.conf).problems_at(cluster, backend),
)
