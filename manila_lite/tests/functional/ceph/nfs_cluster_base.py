# SPDX-License-Identifier: Apache-2.0
"""Base of tests of an existing NFS cluster: its gateways are on the hosts "nas" and "other"; the share manager is on "nas"."""

import json
import subprocess
import unittest

from manila_lite.tests.functional.ceph import host, nfs_base
from manila_lite.tests.services.daemon import Missing, program
from manila_lite.tests.services.nfs_cluster import NfsGateway

#: The name of the NFS cluster of tests.
NAME = 'tests'


@nfs_base.TOGETHER.keep
def surroundings():
    """Return the fabric and the cluster of this process, with the NFS cluster.

    :raises Missing: a program is not installed.
    """
    fabric, cluster = nfs_base.surroundings()
    cluster.enable_nfs()
    cluster.add_nfs_cluster(NAME)
    return fabric, cluster


class ClusterTest(nfs_base.GatewayTest):
    """A backend for the class, whose shares the gateways of the NFS cluster serve."""

    SERVER = 'nas'
    #: Hosts with a gateway.
    GATEWAYS = ('nas', 'other')

    @classmethod
    def setUpClass(cls):
        if lacks := nfs_base.missing():
            raise unittest.SkipTest(f'an NFS gateway needs {lacks}')
        try:
            fabric, cluster = surroundings()
            cls.gateways = {name: cls.gateway(cluster, fabric.name(name)) for name in cls.GATEWAYS}
        except Missing as lacks:
            raise unittest.SkipTest(str(lacks)) from lacks
        super().setUpClass()

    @classmethod
    def gateway(cls, cluster, netns, **more):
        """Start a gateway."""
        gateway = NfsGateway(cluster, NAME, netns, **more)
        cls.addClassCleanup(gateway.cleanUp)
        gateway.setUp()
        return gateway

    @classmethod
    def host(cls, name):
        """Return a host, whose share manager has just started."""
        return cls.with_options(
            name,
            f'cephfs_nfs_cluster_id = {NAME}\n'
            f'cephfs_ganesha_export_ips = {cls.fabric.v6("nas")},{cls.fabric.v4("nas")}\n',
        )

    @classmethod
    def with_options(cls, name, options):
        """Return a host with these options, whose share manager has just started."""
        conf = cls.state / f'{name}.conf'
        conf.write_text(
            f'[{host.NAME}]\ncephfs_conf_path = {cls.cluster.conf}\ncephfs_protocol_helper_type = NFS\n{options}'
        )
        cls.hosts[name] = host.Host(cls.__name__, cls.fabric.name(name), conf, cls.state / name)
        return cls.hosts[name]

    @classmethod
    def forget_addresses(cls, name):
        """Leave the host its addresses: none moves."""

    def exports(self):
        """Return all exports of the NFS cluster, by the paths that clients mount."""
        return {
            export['pseudo']: export
            for export in self.cluster.ask('nfs', 'export', 'ls', NAME, '--detailed') or ()
        }

    def export(self, share):
        """Return the export of the share as Ceph's manager has it."""
        return self.cluster.ask('nfs', 'export', 'info', NAME, f'/shares/{share.id}')

    def apply(self, export):
        """Change an export by hand."""
        done = subprocess.run(
            [
                *self.cluster.inside,
                program('ceph'),
                '--conf',
                str(self.cluster.admin_conf),
                'nfs',
                'export',
                'apply',
                NAME,
                '-i',
                '-',
            ],
            input=json.dumps(export),
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stderr)

    def ids(self):
        """Return all ids of the cluster."""
        return [entry['entity'] for entry in self.cluster.ask('auth', 'ls')['auth_dump']]

    def sessions(self, user):
        """Return the addresses of gateways that have a session for an export by this id."""
        told = self.cluster.ask('tell', 'mds.a:0', 'client', 'ls', f'auth_name={user}')
        return sorted(one['entity']['addr']['addr'].rpartition(':')[0] for one in told)
