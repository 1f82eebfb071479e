# SPDX-License-Identifier: Apache-2.0
"""CephFS over NFS as clients on a network see it: a real cluster, NFS-Ganesha with FSAL_CEPH, clients at each address."""

import re
import threading
from pathlib import Path

from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.host.daemon import Daemon
from manila_lite.tests import waiting
from manila_lite.tests.functional.ceph import host, nfs_base
from manila_lite.tests.functional.linux import base
from manila_lite.tests.security import nfs4
from manila_lite.tests.security.test_file_handles import tries


class Access(nfs_base.Levels, nfs_base.GatewayTest):
    """Rules by source address, on both address families, while clients work."""

    OPTIONS = 'cephfs_nfs_max_exports = 3\n'

    def test_bad_access_rule_fails_and_the_good_rules_apply(self):
        share = self.share()
        results = self.grant(share, ('fd99::/112', 'rw'), (self.one, 'rw'))
        self.assertIn('/100', results[0])
        self.assertIsNone(results[1])
        self.works('one', share, 'write', 'f', 'good')

    def test_client_that_writes_is_shut_out_at_once(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        client = self.session('one', share)
        self.assertEqual((True, None), client.call('write', 'f', 'hello'))
        self.grant(share, (self.one, 'ro'))
        self.assertEqual((True, 'hello'), client.call('read', 'f'))
        self.assertIn('ROFS', client.call('write', 'f', 'no')[1])
        self.grant(share)
        self.assertIn('ACCES', client.call('read', 'f')[1])
        self.grant(share, (self.one, 'rw'))
        self.assertEqual((True, None), client.call('write', 'f', 'again'))

    def test_deleted_share_leaves_no_export_no_key_and_no_session(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        self.works('one', share, 'write', 'f', 'hello')
        self.assertIn(f'client.nfs-{share.id}', self.ids())
        self.nas.call('delete', share)
        self.refused('NOENT', 'one', share, 'list')
        self.assertNotIn(f'client.nfs-{share.id}', self.ids())
        self.assertEqual([], list((self.state / 'nas').glob(f'*/{share.id}*')))

    def ids(self):
        return [entry['entity'] for entry in self.cluster.ask('auth', 'ls')['auth_dump']]

    def test_key_of_an_export_reaches_its_share_only_and_is_in_no_log(self):
        share = self.share()
        entry = self.cluster.ask('auth', 'get', f'client.nfs-{share.id}')[0]
        self.assertRegex(entry['caps']['mds'], rf'^allow rw path=/volumes/_nogroup/{share.id}/\S+$')
        self.assertRegex(entry['caps']['osd'], rf'^allow rw pool=a.data namespace=\S+{share.id}$')
        self.assertNotIn('allow *', str(entry['caps']))
        files = [file for file in (self.state / 'nas').rglob('*') if file.is_file()]
        holds = [file for file in files if entry['key'] in file.read_text(errors='replace')]
        self.assertEqual([f'{share.id}.conf'], [file.name for file in holds])
        self.assertEqual(0o600, holds[0].stat().st_mode & 0o777)
        self.assertEqual(0o700, (self.state / 'nas').stat().st_mode & 0o777)

    def test_size_is_enforced(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        self.cluster.ask('fs', 'subvolume', 'resize', 'a', share.id, str(8 << 20))
        self.refused('DQUOT', 'one', share, 'fill', 'big', '64')

    def test_new_snapshot_is_seen_at_once(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        client = self.session('one', share)
        client.call('write', 'f', 'before')
        self.works('one', share, 'list')
        snapshot = uuidutils.generate_uuid()
        self.nas.call('snapshot', share, snapshot)
        raw = self.raw('one')
        root = raw.walk('shares', share.id)
        [found] = [name for name in raw.names(raw.lookup(root, '.snap')) if not name.startswith(b'.')]
        client.call('write', 'f', 'after')
        self.assertEqual(b'before', raw.read(raw.lookup(root, '.snap', found, 'f')))
        self.nas.call('unsnapshot', share, snapshot)

    def test_share_beyond_the_limit_of_exports_is_refused_before_it_is_made(self):
        for _ in range(3):
            self.share()
        more = uuidutils.generate_uuid()
        share = self.share_of(more)
        refused = self.assertRaises(host.Refused, self.nas.call, 'create', share)
        self.assertTrue(refused.final)
        self.assertIn('cannot have more than 3 exports', str(refused))
        self.assertIn('cephfs_nfs_max_exports', str(refused))
        self.assertNotIn(more, [entry['name'] for entry in self.cluster.ask('fs', 'subvolume', 'ls', 'a')])

    def test_ensure_repairs_what_is_broken_and_nothing_else(self):
        share = self.share()
        rule = (self.one, 'rw')
        self.grant(share, rule)
        self.assertEqual([], self.nas.call('ensure', share, [rule]))
        file = self.state / 'nas' / 'exports.d' / f'{share.id}.conf'
        file.unlink()
        self.cluster.ask('fs', 'subvolume', 'deauthorize', 'a', share.id, f'nfs-{share.id}')
        self.assertEqual(1, len(self.nas.call('inspect', share, [rule])))
        self.assertFalse(file.exists())
        self.assertEqual(1, len(self.nas.call('ensure', share, [rule])))
        self.assertEqual([], self.nas.call('ensure', share, [rule]))
        self.assertTrue(file.exists())
        self.works('one', share, 'write', 'f', 'hello')

    def test_share_is_managed_by_its_nfs_path_and_keeps_its_data(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        self.works('one', share, 'write', 'f', 'mine')
        path = f'{self.fabric.v4("gateway")}:/shares/{share.id}'
        again = self.share_of(uuidutils.generate_uuid())
        refused = self.assertRaises(host.Refused, self.nas.call, 'manage', again, path)
        self.assertIn('managed already', str(refused))
        self.nas.call('unmanage', share)
        self.refused('NOENT', 'one', share, 'list')
        paths = self.nas.call('manage', again, path)
        self.addCleanup(self.nas.call, 'delete', again)
        self.assertRegex(
            paths[0], rf'^{re.escape(self.fabric.v4("gateway"))}:/volumes/_nogroup/{share.id}/\S+$'
        )
        self.grant(again, (self.one, 'rw'))
        raw = self.raw('one')
        root = raw.walk(*paths[0].partition(':/')[2].split('/'))
        self.assertEqual(b'mine', raw.read(raw.lookup(root, 'f')))

    def share_of(self, share_id):
        """Return a share that is not made yet."""
        return values.Share(share_id, share_id, 'p', 1, 'NFS', host.POOL)


class Handles(nfs_base.GatewayTest):
    """A client that may mount one share forges file handles, and reaches nothing but that share."""

    def setUp(self):
        super().setUp()
        self.mine, self.theirs = self.share(), self.share()
        self.grant(self.mine, (self.one, 'rw'))
        self.grant(self.theirs, (self.fabric.v4('two'), 'rw'))
        self.works('two', self.theirs, 'write', 'secret', 'theirs')
        self.works('one', self.mine, 'write', 'own', 'mine')
        self.client, other = self.raw('one'), self.raw('two')
        self.root = self.client.walk('shares', self.mine.id)
        self.own = self.client.lookup(self.root, 'own')
        self.their_root = other.walk('shares', self.theirs.id)
        self.their_file = other.lookup(self.their_root, 'secret')

    def shut(self, handle, about):
        """Check that every act with the handle is refused."""
        for what, call in tries(self.client, handle):
            try:
                result = call()
            except nfs4.Refused as refused:
                self.assertIn(
                    refused.name,
                    ('STALE', 'BADHANDLE', 'ACCESS', 'PERM', 'NOENT', 'INVAL'),
                    f'{about}: {what}',
                )
            else:
                self.fail(f'{about}: {what} gave {result!r}')

    def test_real_handles_of_another_share_are_refused(self):
        for handle in (self.their_root, self.their_file):
            self.shut(handle, 'all theirs')

    def test_handles_with_my_head_and_their_file_are_refused(self):
        """The head names my export; what follows names their file, which the gateway has in its cache."""
        for theirs in (self.their_root, self.their_file):
            self.assertEqual(len(self.own), len(theirs))
            different = [place for place in range(len(theirs)) if theirs[place] != self.own[place]]
            for head in range(min(different) + 1, max(different) + 1):
                self.shut(self.own[:head] + theirs[head:], f'mine up to {head}')

    def test_guessed_inodes_are_refused(self):
        """The root of the file system, the folder of all volumes, that of this share, and others near by."""
        place = self._place_of_inode()
        mine = int.from_bytes(self.root[place : place + 8], 'little')
        inodes = [
            1,
            2,
            3,
            0x100,
            0x10000000000,
            *(
                number
                for number in range(mine - 12, mine + 12)
                if number not in (mine, self._inode(self.own))
            ),
        ]
        for number in inodes:
            self.shut(
                self.own[:place] + number.to_bytes(8, 'little') + self.own[place + 8 :], f'inode {number:#x}'
            )
        self.assertEqual(b'mine', self.client.read(self.own))

    def _place_of_inode(self):
        """Return where the inode stands in a handle: the only 8 bytes that are an inode of the cluster's numbers."""
        found = [
            place
            for place in range(len(self.own) - 7)
            if 0x10000000000 <= int.from_bytes(self.own[place : place + 8], 'little') < 0x10001000000
        ]
        self.assertEqual(1, len(found), self.own.hex())
        return found[0]

    def _inode(self, handle):
        place = self._place_of_inode()
        return int.from_bytes(handle[place : place + 8], 'little')

    def test_files_of_the_share_cannot_be_left_upwards(self):
        self.assertEqual([self.mine.id.encode()], self.client.names(self.client.parent(self.root)))


class Restart(nfs_base.GatewayTest):
    """What outlives the share manager and NFS-Ganesha."""

    def test_gateway_outlives_the_share_manager_and_comes_back_when_it_dies(self):
        share = self.share()
        self.grant(share, (self.one, 'rw'))
        self.works('one', share, 'write', 'f', 'hello')
        self.nas.kill()
        self.assertEqual('hello', self.works('one', share, 'read', 'f'))
        nas = type(self).nas = self.host('nas')
        before = self.pid('ganesha.json')
        nas.call('setup')
        self.assertEqual(before, self.pid('ganesha.json'))
        self.assertEqual([], nas.call('ensure', share, [(self.one, 'rw')]))
        server = Daemon(self.state / 'nas' / 'ganesha.json')
        base.kill(server)
        nas.call('report')
        self.assertNotEqual(before, self.pid('ganesha.json'))
        self.assertEqual('hello', self.works('one', share, 'read', 'f'))

    def pid(self, name):
        return Path(self.state, 'nas', name).read_text()

    def test_53_5_cluster_agrees_once_and_not_for_each_export_that_its_former_server_is_gone(self):
        shares = [self.share() for _ in range(8)]
        for share in shares:
            self.grant(share, (self.one, 'rw'))
            self.works('one', share, 'write', 'f', share.id)
        agreed = self.cluster.ask('osd', 'dump')['epoch']
        base.kill(Daemon(self.state / 'nas' / 'ganesha.json'))
        self.nas.call('report')
        self.assertLess(self.cluster.ask('osd', 'dump')['epoch'] - agreed, len(shares) / 2)
        for share in shares:
            self.assertEqual(share.id, self.works('one', share, 'read', 'f'))

    def test_53_5_starting_server_mounts_exports_ahead_and_one_that_fails_keeps_none_of_the_others(self):
        shares = [self.share() for _ in range(4)]
        for share in shares:
            self.grant(share, (self.one, 'rw'))
            self.works('one', share, 'write', 'f', share.id)
        lost = shares.pop(1)
        self.cluster.ask('auth', 'rm', f'client.nfs-{lost.id}')
        server = Daemon(self.state / 'nas' / 'ganesha.json')
        base.kill(server)
        self.nas.call('report')
        self.assertFalse((self.state / 'nas' / 'mounts.list').exists(), 'nothing was mounted ahead')
        for share in shares:
            self.assertEqual(share.id, self.works('one', share, 'read', 'f'))
            self.refused('NOENT', 'two', share, 'list')
        self.refused('NOENT', 'one', lost, 'list')
        self.assertNotEqual([], self.nas.call('ensure', lost, [(self.one, 'rw')]))
        self.assertEqual(lost.id, self.works('one', lost, 'read', 'f'))

    def test_concurrent_shares_get_exports_of_their_own(self):
        shares = [self.share() for _ in range(3)]
        threads = [threading.Thread(target=self.grant, args=(share, (self.one, 'rw'))) for share in shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(waiting.LIMIT)
        for share in shares:
            self.works('one', share, 'write', 'f', share.id)
        for share in shares:
            self.assertEqual(share.id, self.works('one', share, 'read', 'f'))
