# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import testtools

from manila_lite.drivers.cephfs.nfs.fsal import CephFsal, Key, Records
from manila_lite.drivers.file_servers.connection_guard import ConnectionGuard
from manila_lite.host.commands import CommandFailed


class FsalTest(testtools.TestCase):
    def fsal(self, key=None, **changes):
        return CephFsal(
            **{
                'home': Path('/state'),
                'ceph_conf': '/etc/ceph/ceph.conf',
                'filesystem': 'a',
                'node': 'node',
                'key_of': lambda name: key or Key(f'nfs-{name}', 'secret=='),
                'guard': ConnectionGuard(Path('/state'), 64),
                'evict_host': lambda name: None,
                **changes,
            }
        )

    def test_each_export_has_a_key_of_its_own(self):
        self.assertEqual(
            'FSAL { Name = CEPH; Filesystem = "a"; User_Id = "nfs-x"; Secret_Access_Key = "secret=="; }',
            self.fsal().block('x'),
        )

    def test_text_that_would_end_its_quotes_is_refused(self):
        for bad in ('a"; } EXPORT {', 'a\\', 'a\nb', ''):
            self.assertRaises(CommandFailed, self.fsal, filesystem=bad)
            self.assertRaises(CommandFailed, self.fsal(Key(bad, 'secret')).block, 'x')

    def test_secret_is_not_in_the_text_of_a_key(self):
        self.assertNotIn('secret', f'{Key("nfs-x", "secret")!r} {Key("nfs-x", "secret")}')

    def test_records_of_clients_are_in_the_cluster_if_hosts_share_them(self):
        self.assertIn('RecoveryRoot = "/state/recov"', self.fsal().recovery(Path('/state')))
        self.assertNotIn('RADOS_KV', self.fsal().conf)
        shared = self.fsal(records=Records('pool', 'space', 'manila'))
        self.assertEqual('RecoveryBackend = rados_ng;', shared.recovery(Path('/state')))
        self.assertIn('pool = "pool"; namespace = "space"; nodeid = "node";', shared.conf)

    def test_sessions_of_a_server_are_known_by_a_name_that_no_other_has(self):
        records = Records('pool', 'space', 'manila')
        one, other, shared = self.fsal(node='a'), self.fsal(node='b'), self.fsal(node='a', records=records)
        self.assertEqual(one.wrap(['x']), shared.wrap(['x']))
        self.assertNotEqual(one.wrap(['x']), other.wrap(['x']))
        self.assertEqual([one.host_name, 'x'], one.wrap(['x'])[-2:])

    def test_server_with_another_limit_of_connections_is_another_one(self):
        other = self.fsal(guard=ConnectionGuard(Path('/state'), 65))
        self.assertNotEqual(self.fsal().conf, other.conf)
        self.assertEqual(
            ('65', '/etc/ceph/ceph.conf'), (other.env['MANILA_LITE_PER_ADDRESS'], other.env['CEPH_CONF'])
        )
