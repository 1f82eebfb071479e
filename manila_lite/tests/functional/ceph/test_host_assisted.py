# SPDX-License-Identifier: Apache-2.0
"""Native shares move to another file system: the host of the destination copies them with ceph-fuse."""

import os
import unittest
from pathlib import Path

from manila_lite.tests.functional.ceph import base
from manila_lite.tests.functional.linux import filled
from manila_lite.tests.functional.migrations import test_host_assisted

_OTHER = """
[beta]
driver = cephfs
cephfs_conf_path = {conf}
cephfs_filesystem_name = b
migration_driver_continue_update_interval = 0.2
[DEFAULT]
enabled_share_backends = alpha,beta
data_copy_bandwidth_limit = {rate}
"""
READY = 'data_copying_completed'


class Moves(filled.Filled, base.CephTest):
    """From the file system ``a`` to ``b``."""

    TOGETHER = None
    CLUSTER = {'filesystems': ('a', 'b')}
    MORE = 'cephfs_filesystem_name = a'
    # A file's blocks are its size in CephFS.
    TELLS_OF_HOLES = False
    #: MiB a second, 0 for any.
    RATE = 0

    @classmethod
    def setUpClass(cls):
        if lacks := test_host_assisted.missing():
            raise unittest.SkipTest(f'a copy by the host needs {lacks}')
        super().setUpClass()

    @classmethod
    def begin(cls):
        with cls.lite.config.open('a') as config:
            config.write(_OTHER.format(conf=cls.ceph.conf, rate=cls.RATE))
        super().begin()
        cls.until(
            lambda: len(cls.lite.ok('GET', '/scheduler-stats/pools')['pools']) == 2, 'both pools are known'
        )

    @property
    def state(self):
        """The state directory of the service."""
        return self.lite.state

    def made(self):
        """Return a share of ``alpha``, its rule, and where it is mounted."""
        share = self.share(scheduler_hints={'only_host': 'test@alpha'})
        rule = self.grant(share, self.ident())
        return share, rule, self.mount(share, rule)

    def act(self, share, action, body=None):
        return self.lite.call('POST', f'/shares/{share}/action', {action: body})

    def migrate(self, share, **more):
        wanted = {**test_host_assisted.NOTHING, 'host': 'test@beta', **more}
        status, document = self.act(share, 'migration_start', wanted)
        self.assertEqual(202, status, document)

    def task_is(self, share, state):
        shown = self.lite.wait(
            f'/shares/{share}', 'share', (state, 'migration_error', 'migration_success'), field='task_state'
        )
        self.assertEqual(state, shown['task_state'], self.messages(share))
        return shown

    def mount_again(self, share, rule):
        """Mount the share at its new place, with another id. Ceph refuses the former one as long as the other file system has
        it, which may have lost it when the rules are applied.
        """
        self.until(lambda: not self.ceph.ask('fs', 'subvolume', 'ls', 'a'), 'the source is deleted')
        shown = self.lite.wait(
            f'/share-access-rules/{rule["id"]}', 'access', ('active', 'error'), field='state'
        )
        if shown['state'] == 'error':
            self.assertIn('is not free', ' '.join(self.messages(share)))
        self.deny(share, rule)
        self.FILESYSTEM = 'b'
        return self.mount(share, self.grant(share, self.ident()))

    def again(self):
        """Kill the service and start it again."""
        self.lite.kill()
        self.lite.start()

    def ids(self):
        """Return the ids of Ceph that hosts copy with."""
        everyone = (entry['entity'] for entry in self.ceph.ask('auth', 'ls')['auth_dump'])
        return [name for name in everyone if name.startswith('client.move-')]

    def nothing_is_left(self):
        """Check that there are no mounts, files with keys, ids and programs of copies."""
        self.until(lambda: not self.ids(), 'no id is left')
        self.assertEqual([], list((self.state / 'beta' / 'moves').glob('*')))
        self.assertNotIn(f'{self.state}/beta/moves', Path('/proc/mounts').read_text())


class Moved(Moves):
    def test_a_share_moves_with_all_kinds_of_files_and_its_rules(self):
        share, rule, place = self.made()
        copy = self.fill(place)
        self.migrate(share)
        self.task_is(share, READY)
        self.assertIsNotNone(base.refused(os.mkdir, place / 'too-late'), 'the source is read-only')
        self.assertEqual([], self.messages(share))
        self.assertEqual(202, self.act(share, 'migration_complete')[0])
        shown = self.task_is(share, 'migration_success')
        self.assertEqual(('available', 'test@beta#b.data'), (shown['status'], shown['host']))
        there = self.mount_again(share, rule)
        self.assert_as(copy, there)
        (there / 'more').write_text('at home again')
        self.nothing_is_left()

    def test_snapshots_go_along_with_their_content(self):
        share, rule, place = self.made()
        expected = {}
        for text in ('first', 'the second one'):
            (place / 'f').write_text(text)
            os.sync()
            expected[self.snapshot(share)] = text
        (place / 'f').write_text('at the end of all')
        self.migrate(share, preserve_snapshots=True)
        self.task_is(share, READY)
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_success')
        there = self.mount_again(share, rule)
        self.assertEqual('at the end of all', (there / 'f').read_text())
        self.assertEqual(
            expected,
            {
                name.split('_')[1]: (there / '.snap' / name / 'f').read_text()
                for name in os.listdir(there / '.snap')
            },
        )
        self.nothing_is_left()

    def test_cancelled_migration_leaves_nothing_at_the_destination(self):
        share, rule, place = self.made()
        (place / 'f').write_text('hello')
        self.migrate(share)
        self.task_is(share, READY)
        self.assertEqual(202, self.act(share, 'migration_cancel')[0])
        self.lite.wait(f'/shares/{share}', 'share', 'migration_cancelled', field='task_state')
        self.until(lambda: not self.ceph.ask('fs', 'subvolume', 'ls', 'b'), 'the copy is deleted')
        self.nothing_is_left()
        self.ends(share, 'available')
        # The rule is rw again a little later, and a client may do what it might as it mounted.
        self.until(lambda: self.writes_anew(share, rule), 'the source can be written to')

    def writes_anew(self, share, rule):
        """Say whether the client, when it mounts the share anew, can write."""
        self.client.end()
        return base.refused(os.mkdir, self.mount(share, rule) / 'after') is None


class Interrupted(Moves):
    """A copy that takes seconds."""

    RATE = 2

    def test_killed_service_goes_on_with_the_copy(self):
        share, rule, place = self.made()
        content = os.urandom(12 << 20)
        (place / 'big').write_bytes(content)
        os.sync()
        self.migrate(share)
        self.task_is(share, 'data_copying_in_progress')
        self.until(lambda: self.act(share, 'migration_get_progress')[1]['total_progress'] > 0, 'it copies')
        before = self.ids()
        self.again()
        self.task_is(share, READY)
        self.assertEqual(set(), set(before) & set(self.ids()), 'the killed process is shut out')
        self.act(share, 'migration_complete')
        self.again()
        self.task_is(share, 'migration_success')
        self.ends(share, 'available')
        self.assertEqual(content, (self.mount_again(share, rule) / 'big').read_bytes())
        self.nothing_is_left()
