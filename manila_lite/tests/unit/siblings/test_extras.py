# SPDX-License-Identifier: Apache-2.0
"""Extras of setup.cfg: each sibling has one, with all that it imports beside the requirements of manila_lite."""

import ast
import configparser
import functools
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata

import testscenarios
import testtools

from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT
from manila_lite.tests.contract.test_packaging import requirements

_SIBLINGS = ('compute', 'dataproc')
#: A program that the compute agent runs, beside the code that siblings share.
_OF_COMPUTE = 'nfs_fuse.py'

_IMPORT = """
import importlib, pkgutil, sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f'{name} is in the extra of another sibling')

sys.meta_path.insert(0, Without())
package = importlib.import_module(f'manila_lite.siblings.{sys.argv[1]}')
for info in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
    if '.migrations' not in info.name:
        importlib.import_module(info.name)
"""


def normalised(distribution: str) -> str:
    """Return a name of a distribution as ``requirements`` does."""
    return re.sub(r'[-_.]+', '-', distribution).lower()


@functools.cache
def distributions() -> Mapping[str, list[str]]:
    """Return the distributions of each top module: it reads the files of all that are installed."""
    return metadata.packages_distributions()


def extra(name: str) -> set[str]:
    """Return the distributions of an extra."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg')
    return {normalised(line.partition('>')[0]) for line in parser['extras'][name].split()}


def imported(sibling: str) -> set[str]:
    """Return the top modules that the sibling imports, with those of the code that siblings share."""
    folder = ROOT / 'manila_lite' / 'siblings'
    shared = [path for path in folder.glob('*.py') if sibling == 'compute' or path.name != _OF_COMPUTE]
    tops = set()
    for path in (*shared, *(folder / sibling).rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                tops |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                tops.add((node.module or '').partition('.')[0])
    return tops - {'manila_lite'} - sys.stdlib_module_names


class ExtrasTest(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [(name, {'name': name}) for name in _SIBLINGS]

    def test_extra_has_all_that_the_sibling_imports(self):
        known = distributions()
        wanted = {normalised(known[top][0]) for top in imported(self.name) if top in known}
        self.assertEqual(set(), wanted - requirements('requirements.txt') - extra(self.name))

    def test_sibling_is_imported_without_the_extra_of_the_other(self):
        (other,) = set(_SIBLINGS) - {self.name}
        foreign = extra(other) - extra(self.name) - requirements('requirements.txt')
        modules = [top for top, names in distributions().items() if foreign & set(map(normalised, names))]
        self.assertNotEqual([], modules)
        subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _IMPORT, self.name, *modules],
            cwd=ROOT,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT,
        )


class BothTest(testtools.TestCase):
    def test_extra_siblings_has_both(self):
        self.assertEqual(extra('compute') | extra('dataproc'), extra('siblings'))
