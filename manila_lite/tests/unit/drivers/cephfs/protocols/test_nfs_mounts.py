# SPDX-License-Identifier: Apache-2.0
import types

import testtools

from manila_lite import values
from manila_lite.drivers.cephfs.protocols import nfs_mounts
from manila_lite.drivers.cephfs.protocols.nfs_cluster import NfsCluster
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume
from manila_lite.host.commands import CommandFailed


def subvolume(name, path=''):
    return Subvolume(name, path or f'/volumes/_nogroup/{name}/d', None, 0, 'data', {})


class MountsTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.share = values.Share('s', 's', 'p', 1, 'NFS', 'data')
        self.conf = types.SimpleNamespace(
            cephfs_nfs_cluster_id='c',
            cephfs_nfs_port=2050,
            cephfs_ganesha_server_ip=None,
            cephfs_ganesha_export_ips=['fd00::1', '10.0.0.1'],
        )
        there = {'s': subvolume('s')}
        self.nfs = NfsCluster(
            types.SimpleNamespace(conf=self.conf), None, types.SimpleNamespace(get=there.get)
        )

    def test_share_of_this_service_is_mounted_by_its_id_and_any_other_by_its_path(self):
        self.assertEqual('/shares/s', nfs_mounts.mounted_as(self.share, subvolume('s')))
        self.assertEqual('/volumes/_nogroup/other/d', nfs_mounts.mounted_as(self.share, subvolume('other')))
        self.assertRaises(
            CommandFailed, nfs_mounts.mounted_as, self.share, subvolume('other', '/volumes/"; }')
        )

    def test_ipv4_comes_first(self):
        self.assertEqual(
            ['10.0.0.1:/shares/s', '[fd00::1]:/shares/s'],
            [location.path for location in self.nfs.export_locations(self.share, subvolume('s'))],
        )
        self.assertEqual(
            {'ipv4_support': True, 'ipv6_support': True, 'mount_options': {}}, self.nfs.capabilities()
        )

    def test_49_14_port_of_the_server_here_is_a_mount_option(self):
        for cluster, wanted in (None, 'port=2050'), ('c', ''):
            self.conf.cephfs_nfs_cluster_id = cluster
            self.assertEqual(
                [wanted] * 2,
                [
                    location.mount_options
                    for location in self.nfs.export_locations(self.share, subvolume('s'))
                ],
            )
            self.assertEqual({'NFS': wanted} if wanted else {}, self.nfs.capabilities()['mount_options'])

    def test_another_nfs_cluster_makes_other_exports(self):
        before = self.nfs.dependencies()
        self.conf.cephfs_nfs_cluster_id = None
        self.assertNotEqual(before, self.nfs.dependencies())

    def test_path_that_is_an_id_is_looked_up(self):
        self.assertEqual('/volumes/_nogroup/s/d', self.nfs.path_of('10.0.0.1:/shares/s'))
        self.assertEqual(
            '10.0.0.1:/volumes/_nogroup/other/d', self.nfs.path_of('10.0.0.1:/volumes/_nogroup/other/d')
        )
        self.assertEqual('/shares/none', self.nfs.path_of('/shares/none'))
