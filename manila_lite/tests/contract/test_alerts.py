# SPDX-License-Identifier: Apache-2.0
"""The alerting rules and the dashboard for operators: right for Prometheus, tried, described, and about metrics that exist."""

import itertools
import json
import re
import subprocess
from pathlib import Path

import fixtures
import testtools
import yaml

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import metrics
from manila_lite.cmd import metrics_collector
from manila_lite.tests import watching
from manila_lite.tests.services import daemon

TESTS = Path(__file__).with_name('alerts.yaml')
PAGE = watching.ROOT / 'doc/source/admin/alerts.rst'
#: A section of the page: its title, and its text up to the next one.
_SECTION = re.compile(r'^(ManilaLite\w+)\n~+\n\n(.*?)(?=^\S[^\n]*\n[-~]+\n|\Z)', re.MULTILINE | re.DOTALL)


class Promtool(testtools.TestCase):
    """Checks with Prometheus' own tool."""

    def promtool(self, *words):
        try:
            program = daemon.program('promtool')
        except daemon.Missing as missing:
            self.skipTest(str(missing))
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_rules_are_right(self):
        self.promtool('check', 'rules', '--lint=all', '--lint-fatal', str(watching.RULES))

    def test_alerts_fire_and_are_silent_as_described(self):
        self.promtool('test', 'rules', str(TESTS))

    def test_expressions_of_the_dashboard_are_right(self):
        rules = [
            {'record': f'checked:{number}', 'expr': text}
            for number, text in enumerate(watching.expressions().values())
        ]
        path = Path(self.useFixture(fixtures.TempDir()).path) / 'rules.yaml'
        path.write_text(yaml.safe_dump({'groups': [{'name': 'checked', 'rules': rules}]}))
        self.promtool('check', 'rules', '--lint=none', str(path))


class Alerts(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.alerts = {rule['alert']: rule for rule in watching.alerts()}

    def test_each_alert_is_tried_when_it_fires_and_when_it_does_not(self):
        cases = [
            case for test in yaml.safe_load(TESTS.read_text())['tests'] for case in test['alert_rule_test']
        ]
        for fires in (True, False):
            self.assertEqual(
                set(self.alerts), {case['alertname'] for case in cases if bool(case['exp_alerts']) == fires}
            )

    def test_each_alert_has_a_section_with_its_meaning_and_the_next_step(self):
        sections = dict(_SECTION.findall(PAGE.read_text()))
        self.assertEqual(set(self.alerts), set(sections))
        for name, text in sections.items():
            self.assertRegex(text, r'\A:Meaning: [^:]+', name)
            self.assertRegex(text, r'\n:Next: \S+', name)

    def test_each_alert_has_a_severity_and_names_its_section(self):
        for name, rule in self.alerts.items():
            self.assertIn(rule['labels']['severity'], ('critical', 'warning'), name)
            self.assertEqual({'summary', 'description', 'runbook'}, set(rule['annotations']), name)
            self.assertEqual(f'{PAGE.relative_to(watching.ROOT)}, {name}', rule['annotations']['runbook'])

    def test_kinds_of_operations_that_alerts_leave_out_exist(self):
        left_out = [
            (name, part)
            for name, rule in self.alerts.items()
            for _, matchers in watching.selectors(rule['expr'])
            for label, operator, value in matchers
            if (label, operator) == ('kind', '!~')
            for part in value.replace('\\\\', '\\').split('|')
        ]
        self.assertTrue(left_out)
        for name, part in left_out:
            self.assertTrue(any(re.fullmatch(part, kind) for kind in metrics_collector.KINDS), (name, part))


class Dashboard(testtools.TestCase):
    def test_panels_do_not_overlap(self):
        board = json.loads(watching.DASHBOARD.read_text())
        self.assertEqual(len(board['panels']), len({panel['id'] for panel in board['panels']}))
        places = []
        for panel in board['panels']:
            at = panel['gridPos']
            places += itertools.product(range(at['x'], at['x'] + at['w']), range(at['y'], at['y'] + at['h']))
            self.assertLessEqual(at['x'] + at['w'], 24, panel['title'])
        self.assertEqual(len(places), len(set(places)))

    def test_each_panel_reads_the_chosen_data_source_and_jobs(self):
        variables = {
            item['name'] for item in json.loads(watching.DASHBOARD.read_text())['templating']['list']
        }
        self.assertEqual({'datasource', 'job'}, variables)
        for panel in watching.panels():
            for target in panel['targets']:
                self.assertEqual('${datasource}', target['datasource']['uid'], panel['title'])
                for name, matchers in watching.selectors(target['expr']):
                    self.assertTrue('job' in {label for label, _, _ in matchers}, (panel['title'], name))

    def test_units_fit_the_metrics(self):
        for panel in watching.panels():
            unit = panel['fieldConfig']['defaults']['unit']
            for target in panel['targets']:
                if '/' not in target['expr'] and '_bytes' in target['expr']:
                    self.assertEqual('bytes', unit, panel['title'])
                if '_seconds_bucket' in target['expr'] or 'age_seconds' in target['expr']:
                    self.assertEqual('s', unit, panel['title'])


class Names(testtools.TestCase):
    """What expressions name is in the tables of metrics. Whether processes show it: functional/monitoring/test_alerts.py."""

    def test_metrics_and_labels_exist(self):
        known = {
            f'{family.name}{suffix}': {*labels, *more}
            for family, labels in (*metrics.families(), *metrics_collector.families())
            for suffix, more in (('', ()), ('_total', ()), ('_sum', ()), ('_count', ()), ('_bucket', ('le',)))
        }
        known['manila_lite_process_info'] = {'service', 'release', 'host', 'backend', 'pid'}
        named = set()
        for where, text in watching.expressions().items():
            labels = set(watching.GIVEN)
            for name, matchers in watching.selectors(text):
                if name.startswith('manila_lite'):
                    named.add(name)
                    self.assertIn(name, known, where)
                    self.assertEqual(
                        set(), {label for label, _, _ in matchers} - known[name] - watching.GIVEN, where
                    )
                    labels |= known[name]
            self.assertEqual(set(), watching.grouped(text) - labels, where)
        self.assertLess(15, len(named))
