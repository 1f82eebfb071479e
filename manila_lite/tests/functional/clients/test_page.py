# SPDX-License-Identifier: Apache-2.0
"""The page about clients agrees with the tables that the tests in this package run."""

import pathlib
import subprocess
import sys

import fixtures
import testtools

_TOOL = pathlib.Path(__file__).parents[4] / 'tools' / 'gen_clients.py'
_PAGE = 'doc/source/user/clients.rst'


class Page(testtools.TestCase):

    def run_tool(self, *words):
        return subprocess.run([sys.executable, str(_TOOL), *map(str, words)], capture_output=True, text=True, check=False)

    def test_is_the_tables(self):
        done = self.run_tool('--check')
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_an_old_one_is_told(self):
        root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (root / _PAGE).parent.mkdir(parents=True)
        (root / _PAGE).write_text((_TOOL.parents[1] / _PAGE).read_text().replace('works', 'may work', 1))
        done = self.run_tool('--check', root)
        self.assertEqual((1, True), (done.returncode, f'{_PAGE} is old' in done.stdout), done.stderr)
