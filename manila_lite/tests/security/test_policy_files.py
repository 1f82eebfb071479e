# SPDX-License-Identifier: Apache-2.0
"""Policy files are in force as they are: a restored, moved or half-written file never opens or breaks a call."""

import os
import pathlib
import shutil
import time

import fixtures
import testtools

from manila_lite import policies
from manila_lite.tests import fixtures as service_fixtures
from manila_lite.tests import waiting
from manila_lite.tests.functional import base

STRICT = '"share:get_all": "role:auditor"\n"share:create": "role:auditor"\n'
OPEN = '"share:get_all": "role:member"\n'


class PolicyFiles(testtools.TestCase):
    """A running API whose operator changes policy.yaml and policy.d."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.folder / 'policy.yaml'
        (self.folder / 'policy.d').mkdir()
        self.write(self.file, STRICT, age=100)
        self.log = self.useFixture(fixtures.FakeLogger('manila_lite.policies'))
        self.service = self.useFixture(
            service_fixtures.Service(
                parts=(),
                extra=(
                    f'[oslo_policy]\npolicy_file = {self.file}\npolicy_dirs = {self.folder}/policy.d\n[DEFAULT]'
                ),
            )
        )
        self.member = base.Api(self.service.app, roles='member,reader')
        self.assertEqual(403, self.status())

    def write(self, file, text, age=10):
        """Have the file be whole, as one that was written so many seconds ago."""
        file.write_text(text)
        os.utime(file, (time.time() - age,) * 2)

    def status(self):
        """Return the status of a list for a member."""
        return self.member.call('GET', '/shares')[0]

    def looks(self):
        """Have the next request look at the files."""
        self.service.services.enforcer._look_at = 0.0

    def after(self):
        """Return the status of a list after a look at the files."""
        self.looks()
        return self.status()

    def test_changes_are_in_force_soon(self):
        self.file.write_text(OPEN)
        waiting.until(lambda: self.status() == 200, 'the new rules are in force')
        self.assertLessEqual(policies.LOOK_EVERY, 1.0)  # seconds, as the page on security promises

    def test_restored_file_with_an_older_time_is_read(self):
        self.write(self.file, OPEN)
        self.assertEqual(200, self.after())
        self.write(self.folder / 'saved', STRICT, age=10_000)
        shutil.copy2(self.folder / 'saved', self.file)
        self.assertEqual(403, self.after())
        self.write(self.file, OPEN, age=10_000)
        self.assertEqual(200, self.after())

    def test_file_that_is_moved_away_and_back_stays_in_force(self):
        self.file.rename(self.folder / 'aside')
        for _ in range(3):
            self.assertEqual(403, self.after())
        said = self.log.output
        self.assertEqual(1, said.count('is missing. The rules that were read before stay in force'), said)
        (self.folder / 'aside').rename(self.file)
        self.assertEqual(403, self.after())
        self.assertIn('whole again', self.log.output)
        self.write(self.file, OPEN)
        self.assertEqual(200, self.after())

    def test_half_written_file_changes_nothing(self):
        for half in (
            '"share:get_all": "role:mem',
            '"share:get_all":',
            'share',
            '- x',
            '"share:get_all": 5',
            '{',
        ):
            self.write(self.file, half)
            self.assertEqual(403, self.after(), half)
            self.assertIn(str(self.file), self.log.output)
        self.write(self.file, OPEN)
        self.assertEqual(200, self.after())

    def test_file_that_is_being_written_is_not_read_yet(self):
        """A beginning of a file may be a file: it would have fewer rules."""
        self.useFixture(fixtures.MonkeyPatch('manila_lite.policies.files.SETTLED', 1000.0))
        self.write(self.file, '')
        self.assertEqual(403, self.after())
        self.write(self.file, '', age=10_000)
        self.assertEqual(200, self.after())

    def test_file_that_nobody_may_read_changes_nothing(self):
        self.file.write_bytes(b'\xff\xfe')
        os.utime(self.file, (1, 1))
        self.assertEqual(403, self.after())
        self.file.unlink()
        self.file.mkdir()
        self.assertEqual(403, self.after())
        self.assertEqual([], [line for line in self.log.output.splitlines() if 'Traceback' in line])

    def test_files_of_the_folder_come_go_and_return(self):
        more = self.folder / 'policy.d' / '50-more.yaml'
        self.write(more, OPEN, age=10_000)
        self.assertEqual(200, self.after())
        more.rename(self.folder / 'aside')
        self.assertEqual(403, self.after())
        (self.folder / 'aside').rename(more)
        self.assertEqual(200, self.after())
        (self.folder / 'policy.d').rename(self.folder / 'elsewhere')
        self.assertEqual(200, self.after())
