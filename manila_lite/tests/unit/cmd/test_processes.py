# SPDX-License-Identifier: Apache-2.0
"""Packages that a process loads only when it needs them: each takes about 2 MiB in every process."""

import subprocess
import sys

import testtools

_PROGRAM = '''
import importlib, sys
importlib.import_module(sys.argv[1])
print(*sorted({'alembic', 'cheroot', 'jinja2'} & set(sys.modules)))
'''


class Packages(testtools.TestCase):

    def loaded(self, module):
        return subprocess.run([sys.executable, '-c', _PROGRAM, module], check=True, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL).stdout.split()

    def test_services_without_an_api_load_no_server_templates_or_changes_of_the_schema(self):
        for module in ('manila_lite.cmd.scheduler', 'manila_lite.cmd.share'):
            self.assertEqual([], self.loaded(module), module)

    def test_the_server_of_metrics_and_a_report_load_theirs(self):
        self.assertEqual(['cheroot'], self.loaded('manila_lite.cmd.metrics_server'))
        self.assertEqual(['jinja2'], self.loaded('manila_lite.cmd.guru_meditation'))
