# SPDX-License-Identifier: Apache-2.0
"""One program sees other files in /etc, and nobody else does."""

import os
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.protocols import private_etc
from manila_lite.tests import waiting


class Etc(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest('a mount namespace needs root')
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)

    def run_program(self, *words):
        """Run a program with the files of the folder; return (exit status, output, errors)."""
        done = subprocess.run(
            [sys.executable, '-I', '-S', private_etc.__file__, str(self.folder), *words],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def test_program_sees_the_files_of_the_folder_and_all_others(self):
        before = Path('/etc/hosts').read_text()
        (self.folder / 'hosts').write_text('127.0.0.1 here-alone\n')
        self.assertEqual((0, '127.0.0.1 here-alone\n', ''), self.run_program('cat', '/etc/hosts'))
        self.assertEqual(Path('/etc/passwd').read_text(), self.run_program('cat', '/etc/passwd')[1])
        self.assertEqual(before, Path('/etc/hosts').read_text())

    def test_process_becomes_the_program_and_has_its_status(self):
        with subprocess.Popen(
            [
                sys.executable,
                '-I',
                '-S',
                private_etc.__file__,
                str(self.folder),
                'sh',
                '-c',
                'echo $$; exit 7',
            ],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            self.assertEqual(f'{process.pid}\n', process.communicate(timeout=waiting.LIMIT)[0])
        self.assertEqual(7, process.returncode)

    def test_file_that_the_machine_must_have_and_lacks_ends_it_with_the_reason(self):
        (self.folder / 'no-such-file-of-tests').write_text('')
        self.assertEqual(
            (1, '', '/etc/no-such-file-of-tests: No such file or directory\n'),
            self.run_program('echo', 'ran'),
        )
