# SPDX-License-Identifier: Apache-2.0
"""What clients on a network see of the linux backend: real btrfs, real NFS-Ganesha, an NFS client at each address."""

import time

from manila_lite import errors, kinds
from manila_lite.drivers.linux import btrfs, mounts
from manila_lite.tests.functional.linux import base


class Access(base.LinuxTest):
    """Rules by source address, on both families, while clients work."""

    def test_nobody_before_a_rule(self):
        self.refused('NOENT', 'one', self.share(), 'list')

    def test_read_write_read_only_and_denied(self):
        share = self.share()
        one, two = self.fabric.v4('one'), self.fabric.v4('two')
        self.assertEqual([None, None], self.grant(share, (one, 'rw'), (two, 'ro')))
        self.works('one', share, 'write', 'f', 'hello')
        self.assertEqual('hello', self.works('two', share, 'read', 'f'))
        self.refused('ROFS', 'two', share, 'write', 'g', 'no')
        self.refused('NOENT', 'one', share, 'read', 'f', v6=True)
        self.grant(share, (two, 'rw'))
        self.refused('NOENT', 'one', share, 'read', 'f')
        self.works('two', share, 'write', 'f', 'mine')

    def test_ipv6(self):
        share = self.share()
        self.grant(share, (self.fabric.v6('one'), 'rw'), ('fd99::/64', 'ro'))
        self.works('one', share, 'write', 'f', 'six', v6=True)
        self.assertEqual('six', self.works('two', share, 'read', 'f', v6=True))
        self.refused('ROFS', 'two', share, 'write', 'f', 'x', v6=True)
        self.refused('NOENT', 'one', share, 'list')

    def test_the_longest_prefix_decides_whatever_the_order(self):
        share = self.share()
        mine = (self.fabric.v4('one'), 'rw')
        for rules in (('10.99.0.0/24', 'ro'), mine), (mine, ('0.0.0.0/0', 'ro')):
            self.assertEqual([None, None], self.grant(share, *rules))
            self.works('one', share, 'write', 'f', 'one')
            self.refused('ROFS', 'two', share, 'write', 'f', 'two')

    def test_a_bad_rule_does_not_harm_the_good(self):
        share = self.share()
        results = self.grant(share, ('fd99::/112', 'rw'), (self.fabric.v4('one'), 'rw'), ('::/0', 'ro'))
        self.assertIn('/100', results[0])
        self.assertEqual([None, None], results[1:])
        self.works('one', share, 'write', 'f', 'good')
        self.assertEqual('good', self.works('two', share, 'read', 'f', v6=True))

    def test_a_grant_is_quick(self):
        share = self.share()
        self.grant(share, ('10.99.0.11', 'rw'))
        began = time.monotonic()
        for number in range(20):
            self.grant(share, ('10.99.0.11', 'rw'), (f'10.98.0.{number}', 'ro'))
        self.assertLess(time.monotonic() - began, 20.0)     # a stuck call, not a slow one


class Data(base.LinuxTest):
    """Size, snapshots, clones, reverts, and what is left after a crash or a reboot."""

    def setUp(self):
        super().setUp()
        self.made = self.share()
        self.rule = (self.fabric.v4('one'), 'rw')
        self.grant(self.made, self.rule)

    def snapshot(self, share):
        snapshot = kinds.Snapshot(f'snap-{share.id}', share, share.size)
        self.driver.create_snapshot(snapshot)
        self.addCleanup(lambda: self.driver.delete_snapshot(snapshot))
        return snapshot

    def limit(self, share, mebibytes):
        """The share's limit is so small that a test can fill it."""
        btrfs.limit(self.driver._pool.root, self.driver._pool.share(share.id), mebibytes << 20)

    def test_the_size_is_enforced(self):
        self.limit(self.made, 32)
        self.refused('DQUOT', 'one', self.made, 'fill', 'big', '64')
        self.driver.extend_share(self.made, 2)
        self.works('one', self.made, 'fill', 'more', '8')

    def test_the_limit_is_the_size_asked_for(self):
        root, path = self.driver._pool.root, self.driver._pool.share(self.made.id)
        fsid = btrfs.fsid(root)
        limits = [f'/sys/fs/btrfs/{fsid}/qgroups/0_{btrfs.subvolume_id(path)}/max_referenced']
        for size in (1, 3, 2):
            self.driver.extend_share(self.made, size)
            with open(limits[0], encoding='ascii') as found:
                self.assertEqual(size << 30, int(found.read()))

    def test_shrinking_below_what_is_used_is_refused(self):
        self.works('one', self.made, 'fill', 'f', '40')
        self.limit(self.made, 64)
        small = btrfs.GIB
        try:
            btrfs.GIB = 32 << 20    # a GiB of 32 MiB: filling a real one takes half a minute
            self.assertRaises(errors.RefusedShrink, self.driver.shrink_share, self.made, 1)
            self.driver.shrink_share(self.made, 2)
        finally:
            btrfs.GIB = small
        self.refused('DQUOT', 'one', self.made, 'fill', 'g', '40')

    def test_revert_keeps_rules_and_a_clone_is_on_its_own(self):
        self.works('one', self.made, 'write', 'f', 'before')
        snapshot = self.snapshot(self.made)
        self.works('one', self.made, 'write', 'f', 'after')
        self.driver.revert_to_snapshot(snapshot)
        self.assertEqual('before', self.works('one', self.made, 'read', 'f'))
        self.refused('NOENT', 'two', self.made, 'list')
        clone = kinds.Share(f'clone-{self.made.id}', 'c', 'p', 2, 'NFS', 'pool', snapshot_id=snapshot.id)
        self.driver.create_share_from_snapshot(clone, snapshot)
        self.addCleanup(lambda: self.driver.delete_share(clone))
        self.grant(clone, self.rule)
        self.assertEqual('before', self.works('one', clone, 'read', 'f'))
        self.works('one', clone, 'write', 'f', 'mine')
        self.assertEqual('before', self.works('one', self.made, 'read', 'f'))

    def ensure(self):
        target = kinds.EnsureTarget(self.made, (kinds.AccessRule('r', 'ip', *self.rule),))
        gone = kinds.EnsureTarget(kinds.Share('never-was', 'n', 'p', 1, 'NFS', 'pool'))
        results = self.driver.ensure_shares([target, gone])
        self.assertIsNone(results[self.made.id].error)
        self.assertIn('not in the pool', results['never-was'].error)
        return results[self.made.id]

    def test_a_new_manager_adopts_what_runs(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        server = self.driver._nfs._server.process()
        type(self).driver = self.make()
        self.driver.setup()
        self.ensure()
        self.assertEqual(server, self.driver._nfs._server.process())
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))

    def test_a_killed_server_comes_back_with_its_rules(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        self.driver._nfs._server.process().kill()
        type(self).driver = self.make()
        self.driver.setup()
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
        self.refused('NOENT', 'two', self.made, 'list')

    def test_a_reboot(self):
        self.works('one', self.made, 'write', 'f', 'hello')
        self.driver.teardown()
        self.assertFalse(mounts.is_mounted(self.driver._pool.root))
        self.assertIsNone(mounts.loop_of(self.state / 'pool.img'))
        type(self).driver = self.make()
        self.driver.setup()
        locations = self.ensure().export_locations
        paths = [f'{address}:/shares/{self.made.id}' for address in (self.fabric.v4('nas'), f'[{self.fabric.v6("nas")}]')]
        self.assertEqual(paths, [location.path for location in locations])
        self.assertEqual([True, False], [location.preferred for location in locations])
        self.assertEqual('hello', self.works('one', self.made, 'read', 'f'))
        self.refused('NOENT', 'two', self.made, 'list')

    def test_rules_survive_losing_the_export_files(self):
        for file in (self.state / 'state' / 'exports.d').glob('*'):
            file.unlink()
        self.driver.teardown()
        type(self).driver = self.make()
        self.driver.setup()
        self.refused('NOENT', 'one', self.made, 'list')
        self.ensure()
        self.works('one', self.made, 'list')

    def test_a_revert_that_died_between_its_renames(self):
        self.works('one', self.made, 'write', 'f', 'before')
        snapshot = self.snapshot(self.made)
        pool = self.driver._pool
        self.driver.teardown()
        self.driver._pool.open()
        pool.share(self.made.id).rename(pool._old(self.made.id))
        type(self).driver = self.make()
        self.driver.setup()
        self.driver.revert_to_snapshot(snapshot)
        self.assertEqual('before', self.works('one', self.made, 'read', 'f'))
        self.assertFalse(pool._old(self.made.id).exists())

    def test_delete_leaves_nothing(self):
        share = kinds.Share(f'short-{self.made.id}', 's', 'p', 1, 'NFS', 'pool')
        self.driver.create_share(share)
        self.driver.delete_share(share)
        self.driver.delete_share(share)
        left = list((self.state / 'state').rglob(f'*{share.id}*'))
        self.assertEqual([], left)


class PlainDirectory(base.LinuxTest):
    """Without btrfs: served, but neither limited nor snapshotted, and honest about it."""

    OPTIONS = 'linux_pool_type = directory\n'
    POOL = 'plain'

    def test_it_serves_and_says_what_it_cannot(self):
        share = self.share()
        self.grant(share, (self.fabric.v4('one'), 'rw'))
        self.works('one', share, 'write', 'f', 'plain')
        pool, = self.driver.report()
        for name in ('snapshot_support', 'create_share_from_snapshot_support', 'revert_to_snapshot_support',
                     'size_limit_support'):
            self.assertIs(False, pool.capabilities[name])
        self.assertRaises(errors.Final, self.driver.create_snapshot, kinds.Snapshot('s', share, 1))
