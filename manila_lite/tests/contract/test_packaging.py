# SPDX-License-Identifier: Apache-2.0
"""Entry points of setup.cfg can be loaded, and requirements have tested versions."""

import configparser
import importlib
import re
import subprocess
import sys
from importlib import metadata

import testscenarios
import testtools

from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT


def setup_cfg() -> configparser.ConfigParser:
    """Read setup.cfg."""
    parser = configparser.ConfigParser(delimiters=('=',))
    parser.optionxform = str
    parser.read(ROOT / 'setup.cfg')
    return parser


def entry_points() -> list[tuple[str, str, str]]:
    """Return group, name and target of each entry point in setup.cfg."""
    return [
        (group, *(part.strip() for part in line.split('=', 1)))
        for group, lines in setup_cfg()['entry_points'].items()
        for line in lines.split('\n')
        if line.strip()
    ]


def _normal(name: str) -> str:
    return re.sub(r'[-_.]+', '-', name).lower()


def requirements(*names: str) -> set[str]:
    """Return the project names in requirement files, in normalised form."""
    lines = [line for name in names for line in (ROOT / name).read_text().splitlines()]
    wanted = [re.match(r'[A-Za-z0-9._-]+', line) for line in lines if not line.startswith(('#', '-'))]
    return {_normal(match.group(0)) for match in wanted if match}


#: Imports the quickstart without some modules.
_WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f'{name} is for tests only')

sys.meta_path.insert(0, Without())
sys.path.insert(0, sys.argv[1])
import quickstart
"""


class EntryPointTest(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [(f'{group},{name}', {'target': target}) for group, name, target in entry_points()]

    def test_entry_point_is_callable(self):
        module, _, name = self.target.partition(':')
        self.assertTrue(callable(getattr(importlib.import_module(module), name)))


class RequirementsTest(testtools.TestCase):
    def test_every_requirement_has_a_constraint(self):
        asked = requirements('requirements.txt', 'test-requirements.txt', 'tools/client-requirements.txt')
        self.assertEqual(set(), asked - requirements('constraints.txt'))

    def test_every_package_here_is_of_a_tested_version(self):
        lines = (ROOT / 'constraints.txt').read_text().splitlines()
        locked = {
            _normal(name): version for name, _, version in (line.partition('==') for line in lines) if version
        }
        found = {_normal(one.name): one.version for one in metadata.distributions()}
        self.assertEqual(
            {},
            {
                name: version
                for name, version in found.items()
                if not name.startswith('manila-lite') and locked.get(name) != version
            },
        )

    def test_constraints_are_exact(self):
        lines = (ROOT / 'constraints.txt').read_text().splitlines()
        self.assertEqual([], [line for line in lines if line and not re.match(r'#|[\w.-]+==[\w.]+$', line)])

    def test_quickstart_is_imported_without_test_requirements(self):
        only = requirements('test-requirements.txt') - requirements(
            'requirements.txt', 'tools/client-requirements.txt'
        )
        modules = [
            module
            for module, names in metadata.packages_distributions().items()
            if {_normal(name) for name in names} <= only
        ]
        self.assertIn('testtools', modules)
        done = subprocess.run(
            [sys.executable, '-c', _WITHOUT, str(ROOT / 'tools'), *modules],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            stdin=subprocess.DEVNULL,
        )
        self.assertEqual(0, done.returncode, done.stderr)
