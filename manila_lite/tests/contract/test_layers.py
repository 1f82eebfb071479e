# SPDX-License-Identifier: Apache-2.0
"""Contracts of .importlinter: each catches a planted import."""

import configparser
import pathlib
import subprocess
import sys

import fixtures
import testscenarios
import testtools

from manila_lite.tests import waiting
from manila_lite.tests.contract.test_checks import ROOT

# Contract, file that violates it (below manila_lite), import.
PLANTS = (
    ('packages', 'errors.py', 'from manila_lite import conf'),
    ('packages', 'rpc/slip.py', 'from manila_lite.db.core import engine'),
    ('packages', 'api/slip.py', 'from manila_lite import manager'),
    ('packages', 'actions/slip.py', 'from manila_lite import scheduler'),
    ('packages', 'engine/worker.py', 'from manila_lite.actions import shares'),
    ('packages', 'network/slip.py', 'from manila_lite.db.core import engine'),
    ('packages', 'common/__init__.py', ''),
    ('siblings', 'siblings/compute/calls.py', 'from manila_lite.actions import shares'),
    ('strangers', 'siblings/compute/calls.py', 'from manila_lite.siblings import dataproc'),
    ('client', '../manila_lite_client/slip.py', 'from manila_lite import errors'),
    ('client-used', 'cmd/slip.py', 'import manila_lite_client'),
    ('drivers-used', 'engine/worker.py', 'from manila_lite.drivers.dummy import driver'),
    ('drivers-see', 'drivers/dummy/slip.py', 'from manila_lite import policies'),
    ('drivers-alone', 'drivers/cephfs/slip.py', 'from manila_lite.drivers.linux import driver'),
    ('actions', 'cmd/slip.py', 'from manila_lite.actions import shares'),
    ('acyclic', 'db/core/engine.py', 'from manila_lite.db.core import transitions'),
)
MODULES = (
    'cmd/__init__.py',
    'wsgi/__init__.py',
    'api/__init__.py',
    'scheduler/__init__.py',
    'scheduler/evacuation.py',
    'scheduler/expiry.py',
    'scheduler/schedule_copies.py',
    'manager/runtime/__init__.py',
    'manager/runtime/full_shares.py',
    'manager/__init__.py',
    'doctor/__init__.py',
    'actions/__init__.py',
    'actions/shares.py',
    'workflow/__init__.py',
    'engine/__init__.py',
    'engine/worker.py',
    'drivers/__init__.py',
    'drivers/dummy/__init__.py',
    'drivers/dummy/driver.py',
    'drivers/cephfs/__init__.py',
    'drivers/linux/__init__.py',
    'drivers/linux/driver.py',
    'host_copy/__init__.py',
    'rpc/__init__.py',
    'network/__init__.py',
    'db/__init__.py',
    'db/core/__init__.py',
    'db/core/engine.py',
    'policies/__init__.py',
    'host/__init__.py',
    'conf/__init__.py',
    'context.py',
    'states.py',
    'errors.py',
    'release.py',
    'console/__init__.py',
    'values/__init__.py',
    'encryption/__init__.py',
    'key_manager.py',
    'extra_specs.py',
    'metrics.py',
    'trace.py',
    'thread_reserve.py',
    'entry_points.py',
    'operation_data/__init__.py',
    'api/v2/__init__.py',
    'siblings/__init__.py',
    'siblings/compute/__init__.py',
    'siblings/dataproc/__init__.py',
    'tests/__init__.py',
    '__init__.py',
    '../manila_lite_client/__init__.py',
)


class LayersTest(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (f'{contract},{path}', {'contract': contract, 'path': path, 'line': line})
        for contract, path, line in PLANTS
    ]

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for module in MODULES:
            self._write(module, '')
        # The planted cycle needs a module to close on.
        self._write('db/core/transitions.py', 'from manila_lite.db.core import engine\n')
        (self.root / '.importlinter').write_text((ROOT / '.importlinter').read_text())

    def _write(self, module: str, text: str) -> None:
        path = self.root / 'manila_lite' / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _lint(self) -> tuple[int, str]:
        script = (
            'import sys; sys.path.insert(0, "."); from importlinter import cli; cli.lint_imports_command()'
        )
        done = subprocess.run(
            [sys.executable, '-P', '-c', script, '--no-cache', '--contract', self.contract],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def test_planted_import_is_caught(self):
        code, text = self._lint()
        self.assertEqual(0, code, text)
        self._write(self.path, f'{self.line}\n')
        code, text = self._lint()
        self.assertEqual(1, code, text)
        self.assertIn('BROKEN', text)


class ContractsTest(testtools.TestCase):
    def test_every_contract_has_a_planted_violation(self):
        parser = configparser.ConfigParser()
        parser.read(ROOT / '.importlinter')
        contracts = {section.rpartition(':')[2] for section in parser.sections() if ':contract:' in section}
        self.assertEqual(contracts, {contract for contract, _path, _line in PLANTS})
