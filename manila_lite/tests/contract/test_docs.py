# SPDX-License-Identifier: Apache-2.0
"""The documents build without a warning, and their references are complete."""

import pathlib
import re
import subprocess
import sys

import fixtures
import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import metrics, policies
from manila_lite.api.contract import OPS
from manila_lite.cmd import metrics_collector
from manila_lite.cmd.manage import COMMANDS
from manila_lite.conf import opts

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Build(testtools.TestCase):

    def test_the_pages_build_without_a_warning(self):
        """Build the pages as ``tox -e docs`` does, but as XML."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        done = subprocess.run([sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'xml', 'doc/source', folder],
                              cwd=ROOT, timeout=600, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        pages = {page.stem: page.read_text() for page in (folder / 'reference').glob('*.xml')}
        self.assertEqual([], [name for page, names in self.named().items() for name in names if name not in pages[page]])

    @staticmethod
    def named():
        return {
            'api': [f'{op.method} {op.path}' for op in OPS] + [op.action for op in OPS if op.action],
            'proofs': [f'{op.method} {op.path}' for op in OPS],
            'configuration': [option.dest for _, options in opts.list_opts() for option in options],
            'policies': [rule.name for rule in policies.list_rules()],
            'metrics': [family.name for family, _ in (*metrics.families(), *metrics_collector.families())],
            'manila-manage': [f'{command.category} {command.name}'.strip() for command in COMMANDS],
        }


class Pages(testtools.TestCase):

    def test_metrics_that_pages_name_exist(self):
        known = {family.name: labels for family, labels in (*metrics.families(), *metrics_collector.families())}
        page = (ROOT / 'doc/source/admin/monitoring.rst').read_text()
        named = {name.removesuffix('_total') for name in re.findall(r'manila_lite_[a-z_]+[a-z]', page)}
        self.assertLess(15, len(named))
        self.assertEqual({'manila_lite_process_info'}, named - set(known))
        self.assertEqual(('kind', 'age'), tuple(known['manila_lite_operations_open']))
