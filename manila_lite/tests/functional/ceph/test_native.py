# SPDX-License-Identifier: Apache-2.0
"""The life of a share with native clients: limits, access, snapshots and copies, as a tenant sees them."""

import errno
import os

from manila_lite.tests import waiting
from manila_lite.tests.functional.ceph import base

_MIB = 1 << 20


def write(path, mib):
    """Write MiB for MiB, each of them synced; return how many were accepted, and the error number that ended it."""
    with path.open('wb', buffering=0) as file:
        for done in range(mib):
            try:
                file.write(os.urandom(_MIB))
                os.fsync(file.fileno())
            except OSError as refused:
                return done, refused.errno
    return mib, None


class Native(base.CephTest):
    def test_mounted_share_has_its_size_and_grows_under_the_client(self):
        share = self.share()
        self.assertRegex(self.location(share), r'^127\.0\.0\.1:\d+:/volumes/_nogroup/')
        place = self.mount(share, self.grant(share, self.ident()))
        self.assertEqual(1 << 30, os.statvfs(place).f_blocks * os.statvfs(place).f_frsize)
        (place / 'sparse').touch()
        os.truncate(place / 'sparse', (1 << 30) - 4 * _MIB)
        waiting.until(lambda: self.used(share) > (1 << 30) - 8 * _MIB, 'the cluster knows the size')
        done, number = write(place / 'big', 64)
        self.assertEqual(errno.EDQUOT, number)
        self.assertLess(done, 24, 'the limit is not kept')
        self.lite.ok('POST', f'/shares/{share}/action', {'extend': {'new_size': 2}})
        self.ends(share, 'available')
        waiting.until(lambda: write(place / 'big', 30) == (30, None), 'the client can write more')

    def test_share_does_not_shrink_below_what_it_holds(self):
        share = self.share(2)
        place = self.mount(share, self.grant(share, self.ident()))
        (place / 'sparse').touch()
        os.truncate(place / 'sparse', (1 << 30) + _MIB)
        with (place / 'sparse').open('rb+') as sparse:
            os.fsync(sparse)
        # The number of one look may be of a moment before that of the look before it.
        waiting.until(lambda: all(self.used(share) > 1 << 30 for _ in range(8)), 'the cluster knows the size')
        self.lite.ok('POST', f'/shares/{share}/action', {'shrink': {'new_size': 1}})
        self.assertEqual(2, self.ends(share, 'available')['size'])
        self.assertTrue(any('shrink' in text for text in self.messages(share)))
        os.unlink(place / 'sparse')
        waiting.until(lambda: self.used(share) == 0, 'the cluster knows the size')
        self.lite.ok('POST', f'/shares/{share}/action', {'shrink': {'new_size': 1}})
        self.assertEqual(1, self.ends(share, 'available')['size'])

    def used(self, share):
        return self.ceph.ask('fs', 'subvolume', 'info', 'a', self.path(share).split('/')[3])['bytes_used']

    def test_reader_reads_and_cannot_write(self):
        share = self.share()
        (self.mount(share, self.grant(share, self.ident())) / 'f').write_text('hello')
        place = self.mount(share, self.grant(share, self.ident('reader'), 'ro'))
        self.assertEqual('hello', (place / 'f').read_text())
        for call, name in ((os.mkdir, 'd'), (os.unlink, 'f')):
            self.assertIn(base.refused(call, place / name), (errno.EPERM, errno.EACCES, errno.EROFS))

    def test_writer_is_shut_out_when_its_rule_is_deleted(self):
        share = self.share()
        rule, bystander = self.grant(share, self.ident()), self.grant(share, self.ident('bystander'))
        writer = base.Writer(self.mount(share, rule) / 'log')
        other = base.Writer(self.mount(share, bystander) / 'other')
        self.addCleanup(other.end)
        self.deny(share, rule)
        self.assertTrue(writer.is_shut_out())
        count = other.acknowledged
        waiting.until(lambda: other.acknowledged > count + 10, 'the other client goes on')
        self.assertIsNone(other.error)

    def test_writer_with_a_rule_made_read_only_cannot_write_and_keeps_its_key(self):
        share = self.share()
        rule = self.grant(share, self.ident())
        writer = base.Writer(self.mount(share, rule) / 'log')
        self.lite.ok(
            'PUT',
            f'/share-access-rules/{rule["id"]}',
            {'update_access': {'access_level': 'ro'}},
            version='2.88',
        )
        changed = self.lite.wait(
            f'/share-access-rules/{rule["id"]}', 'access', ('active', 'error'), field='state'
        )
        self.assertEqual(('ro', rule['access_key']), (changed['access_level'], changed['access_key']))
        self.assertTrue(writer.is_shut_out())
        place = self.mount(share, changed)
        # Ceph's client, if its session ends within a fsync, may say that this one was done.
        self.assertLessEqual(writer.acknowledged - 1, len((place / 'log').read_text().splitlines()))
        self.assertIsNotNone(base.refused(os.mkdir, place / 'd'))

    def test_snapshot_is_read_in_its_directory_and_copied_to_a_share_of_its_own(self):
        share = self.share()
        place = self.mount(share, self.grant(share, self.ident()))
        (place / 'f').write_text('first')
        os.sync()
        snapshot = self.snapshot(share)
        (place / 'f').write_text('later')
        self.assertEqual('first', (place / '.snap' / self.dot_snap(place, snapshot) / 'f').read_text())
        copy = self.share(2, snapshot_id=snapshot)
        rule = self.grant(copy, self.ident())
        mine = self.mount(copy, rule)
        self.assertEqual('first', (mine / 'f').read_text())
        (mine / 'f').write_text('mine')
        self.assertEqual(
            ('later', 2 << 30),
            ((place / 'f').read_text(), os.statvfs(mine).f_blocks * os.statvfs(mine).f_frsize),
        )

    def test_progress_of_a_copy_is_in_its_operation(self):
        share = self.share()
        place = self.mount(share, self.grant(share, self.ident()))
        (place / 'big').touch()
        os.truncate(place / 'big', 400 * _MIB)
        waiting.until(lambda: self.used(share) == 400 * _MIB, 'the cluster knows the size')
        # A copy without data can be done before anybody looks.
        self.addCleanup(self.ceph.ask, 'config', 'rm', 'mgr', 'mgr/volumes/snapshot_clone_delay')
        self.ceph.ask('config', 'set', 'mgr', 'mgr/volumes/snapshot_clone_delay', '2')
        copy = self.share(1, snapshot_id=self.snapshot(share))
        [operation] = self.lite.ok('GET', f'/operations?resource_id={copy}&kind=share.create')['operations']
        progress = operation['progress']
        self.assertLessEqual(400 * _MIB, progress['bytes_total'], 'a directory counts, too')
        self.assertEqual((100, progress['bytes_total']), (progress['percent'], progress['bytes_done']))

    @staticmethod
    def dot_snap(place, snapshot):
        [name] = [name for name in os.listdir(place / '.snap') if snapshot in name]
        return name

    def test_snapshot_made_outside_stays_when_its_share_is_deleted(self):
        share = self.share()
        name = self.path(share).split('/')[3]
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'create', 'a', name, 'kept')
        self.remove(share)
        self.assertEqual('snapshot-retained', self.ceph.ask('fs', 'subvolume', 'info', 'a', name)['state'])
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'rm', 'a', name, 'kept')


class OverIpv6(base.CephTest):
    """Monitors with IPv6 addresses only, and the second of two file systems."""

    TOGETHER = None
    CLUSTER = {'filesystems': ('a', 'b'), 'family': 6}
    MORE = 'cephfs_filesystem_name = b'
    FILESYSTEM = 'b'

    def test_share_is_mounted_by_addresses_of_ipv6_from_the_file_system_of_the_section(self):
        [pool] = self.lite.ok('GET', '/scheduler-stats/pools/detail')['pools']
        self.assertEqual(
            ('b.data', False, True),
            (pool['pool'], *(pool['capabilities'][f'ipv{number}_support'] for number in (4, 6))),
        )
        share = self.share()
        self.assertRegex(self.location(share), r'^\[::1\]:\d+:/volumes/_nogroup/')
        (self.mount(share, self.grant(share, self.ident())) / 'f').write_text('hello')
        self.assertEqual([], self.ceph.ask('fs', 'subvolume', 'ls', 'a'))
