# SPDX-License-Identifier: Apache-2.0
"""Copies between folders: another one after a success, and the end after too many failures."""

import subprocess
from pathlib import Path

import fixtures
import psutil
import testtools

from manila_lite import errors
from manila_lite.host import sandbox
from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import copies, messages, rsync
from manila_lite.tests import waiting


class Folders(copies.Copies):
    """Copies that need no mount."""

    def unmount(self, place):
        """Do nothing: nothing is mounted."""


class Polls(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        for name in ('source', 'target'):
            (self.state / name).mkdir()
        self.copies = Folders(self.state / 'places')

    def poll(self, source='source'):
        return self.copies.poll(
            'c',
            lambda: rsync.Copy(self.state / source, self.state / 'target', rsync.SAME),
            lambda bad, times: f'{times} times: {bad}',
        )

    def test_copy_that_ended_well_is_returned_until_it_is_forgotten(self):
        first = waiting.until(lambda: (copy := self.poll()).is_complete and copy, 'it ends', pause=0.01)
        self.assertIs(first, self.poll())
        self.assertTrue(self.copies.is_running('c'))
        self.copies.forget('c')
        self.assertFalse(self.copies.is_running('c'))
        self.assertIsNot(first, self.poll())
        self.copies.clear('c')

    def test_copy_that_fails_too_often_is_given_up_with_an_explanation(self):
        bad = self.assertRaises(
            errors.Final, waiting.until, lambda: self.poll('missing').is_complete, 'it ends', pause=0.01
        )
        self.assertIn('5 times: ', str(bad))
        self.assertFalse(self.copies.is_running('c'))

    def test_copy_of_a_process_that_may_not_work_ends_and_is_no_failure(self):
        (self.state / 'source' / 'big').write_bytes(bytes(8 << 20))
        self.copies.may_run = lambda: False
        slowly = rsync.at_rate(1)

        def poll():
            return self.copies.poll(
                'c',
                lambda: rsync.Copy(self.state / 'source', self.state / 'target', rsync.SAME, *slowly),
                lambda bad, times: f'{times} times: {bad}',
            )

        for _ in range(self.copies.tries + 1):
            copy = poll()
            waiting.until(lambda copy=copy: copy.error, 'it ends')
            self.assertIsInstance(copy.error, messages.NotOurs)
        self.copies.may_run, slowly = lambda: True, ()
        waiting.until(lambda: poll().is_complete, 'it ends', pause=0.01)

    def test_copy_of_another_process_at_the_same_places_is_killed(self):
        [place] = self.copies.mount_points('c')
        (place / 'sub').mkdir(parents=True)
        place.with_name('c2').mkdir()
        for kept, there in (
            (False, place),
            (False, place / 'sub'),
            (True, self.state),
            (True, place.with_name('c2')),
        ):
            other = subprocess.Popen(sandbox.words(there, 'sleep', '1000'))
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)
            waiting.until(psutil.Process(other.pid).children, 'it has begun')
            waiting.until(lambda: self.poll().is_complete, 'it ends', pause=0.01)
            self.copies.forget('c')
            self.assertEqual(kept, other.poll() is None)

    def test_49_15_message_of_a_mount_masks_secrets_where_they_stand_and_keeps_facts(self):
        """The values are parts of the server, the export, the place and other options, too."""
        place = self.state / '1'
        place.mkdir()
        facts = 'mount -t nowhere -o ro,retry=0,vers=1,sec=sys,credentials=/etc/s,{0}=***,{0}=*** '
        facts += f'-o nosuid,nodev,noexec 192.0.2.10:/shares/sesame-0 {place}: '
        for name in ('password', 'password2', 'pass', 'passwd', 'secret', 'PWD', 's3_secret_key', 'token'):
            options = f'ro,retry=0,vers=1,sec=sys,credentials=/etc/s,{name}=sesame-01,{name}=sesame'
            bad = self.assertRaises(
                CommandFailed, self.copies.mount, '192.0.2.10:/shares/sesame-0', place, 'nowhere', options
            )
            self.assertIn(facts.format(name), str(bad))
            self.assertNotIn(f'{name}=sesame', str(bad))

    def test_ids_that_are_no_file_names_are_refused(self):
        self.assertRaises(errors.Final, self.copies.poll, '../c', None, None)
