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
        done = subprocess.run(
            [str(arg) for arg in argv],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(0, done.returncode, f'{argv}\n{done.stdout}\n{done.stderr}')

    def _passes_tool(self, name: str, *argv: str) -> None:
        self._passes(sys.executable, TOOLS / name, *argv)

    def test_ruff_finds_no_style_errors(self):
        self._passes(command('ruff'), 'check', '--no-cache')
        self._passes(command('ruff'), 'format', '--check', '--no-cache')

    def test_mypy_finds_no_type_errors(self):
        self._passes(sys.executable, '-m', 'mypy', '--cache-dir', '/dev/null')

    def test_import_contracts_are_kept(self):
        self._passes(command('lint-imports'), '--no-cache')

    def test_status_columns_are_written_by_one_module_only(self):
        self._passes_tool('check_one_writer.py')

    def test_names_in_the_guides_exist(self):
        self._passes_tool('check_guides.py')

    def test_no_test_sleeps_without_a_reason(self):
        self._passes_tool('check_sleeps.py')

    def test_release_notes_have_the_format_of_reno(self):
        self._passes_tool('check_notes.py')

    def test_every_check_is_run_here(self):
        here = pathlib.Path(__file__).read_text()
        missing = [path.name for path in TOOLS.glob('check_*.py') if path.name not in here]
        self.assertEqual([], missing)
