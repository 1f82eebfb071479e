# SPDX-License-Identifier: Apache-2.0
"""What is left after a crash, a kill and a reboot: real processes die here."""

import re
import signal
import subprocess
import sys

from manila_lite import kinds
from manila_lite.drivers.linux import mounts
from manila_lite.tests.functional.linux import base


class Recovery(base.ShareTest):
    """A new share manager, a new NFS server, or a new boot: clients find the same data and the same rules."""

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
