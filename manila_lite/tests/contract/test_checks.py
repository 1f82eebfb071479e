# SPDX-License-Identifier: Apache-2.0
"""Checks of this tree: style, types, layers, and the scripts of tools/."""

import pathlib
import shutil
import subprocess
import sys
import sysconfig

import testtools

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOLS = ROOT / 'tools'


def command(name: str) -> str:
    """Return the path of a command of this Python environment."""
    found = shutil.which(name, path=sysconfig.get_path('scripts')) or shutil.which(name)
    assert found, f'{name} is not installed; tools/setup-env --tests installs it'
    return found


class ChecksTest(testtools.TestCase):
    """Each check as a test, so that it is counted with the others."""

    def _passes(self, *argv: object) -> None:
        done = subprocess.run([str(arg) for arg in argv], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=600, check=False)
        self.assertEqual(0, done.returncode, f'{argv}\n{done.stdout}\n{done.stderr}')

    def _passes_tool(self, name: str, *argv: str) -> None:
        self._passes(sys.executable, TOOLS / name, *argv)

    def test_style_is_that_of_ruff(self):
        self._passes(command('ruff'), 'check', '--no-cache')

    def test_types_fit(self):
        self._passes(sys.executable, '-m', 'mypy', '--cache-dir', '/dev/null')

    def test_imports_look_down_only(self):
        self._passes(command('lint-imports'), '--no-cache')

    def test_one_writer(self):
        self._passes_tool('check_one_writer.py')

    def test_each_module_has_its_test(self):
        self._passes_tool('check_mirror.py')

    def test_the_guides_are_true(self):
        self._passes_tool('check_guides.py')

    def test_no_test_sleeps(self):
        self._passes_tool('check_sleeps.py')

    def test_release_notes_are_those_of_reno(self):
        self._passes_tool('check_notes.py')

    def test_every_check_is_run_here(self):
        here = pathlib.Path(__file__).read_text()
        missing = [path.name for path in TOOLS.glob('check_*.py') if path.name not in here]
        self.assertEqual([], missing)
