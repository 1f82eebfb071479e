# SPDX-License-Identifier: Apache-2.0
"""The distribution of ``client/``: it is complete, needs nothing of the service, and says what it needs."""

import ast
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata

import fixtures
import testtools

from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.contract.test_packaging import requirements

CLIENT = ROOT / 'client'
PROJECT = tomllib.loads((CLIENT / 'pyproject.toml').read_text())['project']
COMMANDS = {
    *(f'share_operation_{verb}' for verb in ('list', 'show', 'wait')),
    *(f'share_usage_{verb}' for verb in ('history', 'list', 'show')),
    *(f'share_schedule_{verb}' for verb in ('create', 'delete', 'list', 'preview', 'set', 'show', 'unset')),
}

#: Loads the commands of a wheel, named first, where the modules named after it cannot be imported.
_ALONE = """
import importlib.metadata
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f'{name} is of the service')

sys.meta_path.insert(0, Without())
sys.path.insert(0, sys.argv[1])
for point in importlib.metadata.entry_points(group='openstack.extension'):
    if point.dist.name == 'manila-lite-client':
        print(point.name, point.load().__module__, sys.modules[point.load().__module__].__file__)
"""


def normal(name: str) -> str:
    """Return the name of a distribution in normalised form."""
    return re.sub(r'[-_.]+', '-', re.match(r'[\w.-]+', name)[0]).lower()


class ClientPackage(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def build(self):
        """Return the wheel, as pip makes it."""
        source = shutil.copytree(
            CLIENT, self.folder / 'source', ignore=shutil.ignore_patterns('*.egg-info', '__pycache__')
        )
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                'pip',
                '--disable-pip-version-check',
                'wheel',
                '--no-deps',
                '--no-build-isolation',
                '--no-index',
                '--wheel-dir',
                self.folder,
                source,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        [wheel] = self.folder.glob('*.whl')
        return wheel

    def test_wheel_has_the_commands_and_they_load_without_the_service(self):
        wheel = self.build()
        names = zipfile.ZipFile(wheel).namelist()
        modules = {f'manila_lite_client/{path.name}' for path in (CLIENT / 'manila_lite_client').glob('*.py')}
        self.assertEqual(modules, {name for name in names if '.dist-info/' not in name})
        of_service = requirements('requirements.txt') - {
            normal(name) for name in needed_by(*PROJECT['dependencies'])
        }
        blocked = [
            module
            for module, dists in metadata.packages_distributions().items()
            if {*map(normal, dists)} <= of_service
        ]
        self.assertIn('sqlalchemy', blocked)
        done = subprocess.run(
            [sys.executable, '-P', '-c', _ALONE, wheel, 'manila_lite', *blocked],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        loaded = {tuple(line.split()) for line in done.stdout.splitlines() if str(wheel) in line}
        self.assertEqual(COMMANDS, {name for name, _, _ in loaded}, done.stdout + done.stderr)

    def test_what_is_imported_is_declared_and_tested(self):
        declared = {normal(name) for name in PROJECT['dependencies']}
        owners = metadata.packages_distributions()
        for path in (CLIENT / 'manila_lite_client').glob('*.py'):
            for module in (
                imported(ast.parse(path.read_text())) - sys.stdlib_module_names - {'manila_lite_client'}
            ):
                self.assertTrue(declared & {*map(normal, owners[module])}, f'{path.name} imports {module}')
        self.assertEqual(set(), declared - requirements('constraints.txt'))


def imported(tree):
    """Return the packages that a module imports."""
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return {
        name.partition('.')[0]
        for name in names | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    }


def needed_by(*names):
    """Return these distributions and all that they need, as they are installed."""
    found, left = set(), {normal(name) for name in names}
    while left:
        name = left.pop()
        found.add(name)
        try:
            wanted = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:
            continue
        left |= {normal(one) for one in wanted if 'extra ==' not in one} - found
    return found
