# SPDX-License-Identifier: Apache-2.0
"""The alerting rules and the dashboard: their expressions, and what these name. Also metrics as they are scraped."""

import json
import re
import urllib.request
from pathlib import Path

import yaml
from prometheus_client import parser

from manila_lite.tests import waiting

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / 'etc/manila_lite/prometheus/alerts.yaml'
DASHBOARD = ROOT / 'etc/manila_lite/grafana/manila-lite.json'
#: Labels that Prometheus gives to what it scrapes, or that it computes.
GIVEN = {'job', 'instance', '__name__'}

_SELECTOR = re.compile(r'\b((?:manila_lite|process)_[a-z_]+)\b\s*(?:\{([^}]*)\})?')
_MATCHER = re.compile(r'([a-z_]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
_GROUPING = re.compile(r'\b(?:by|on|group_left|without|ignoring)\s*\(([^)]*)\)')


def alerts():
    """Return the alerting rules, as in the file."""
    return [rule for group in yaml.safe_load(RULES.read_text())['groups'] for rule in group['rules']]


def panels():
    """Return the panels of the dashboard that show something."""
    return [panel for panel in json.loads(DASHBOARD.read_text())['panels'] if panel['type'] != 'row']


def expressions():
    """Return all expressions, by the name of the alert or the panel; with values for the dashboard's variables."""
    found = {rule['alert']: rule['expr'] for rule in alerts()}
    for panel in panels():
        for target in panel['targets']:
            text = target['expr'].replace('$__rate_interval', '5m').replace('$job', '.+')
            found[f'{panel["title"]} {target["refId"]}'] = text
    return found


def selectors(expression):
    """Return the metrics of an expression, each with the matchers of its labels: (label, operator, value)."""
    return [
        (name, _MATCHER.findall(matchers or ''))
        for name, matchers in _SELECTOR.findall(_without_groupings(expression))
    ]


def grouped(expression):
    """Return the labels by which an expression groups or joins."""
    return {
        label.strip()
        for labels in _GROUPING.findall(expression)
        for label in labels.split(',')
        if label.strip()
    }


def _without_groupings(expression):
    return _GROUPING.sub(' ', expression)


class Scraped:
    """The metrics of one process. ``names``: also of those that have no sample yet."""

    def __init__(self, port):
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=waiting.LIMIT) as answer:
            text = answer.read().decode()
        self.samples, self.names = [], set()
        for family in parser.text_string_to_metric_families(text):
            self.samples += family.samples
            self.names.add(family.name)

    def value(self, name, **labels):
        """Return the sum of the samples that have these labels."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == f'manila_lite_{name}' and labels.items() <= sample.labels.items()
        )

    def labels(self, name, label):
        """Return all values of a label."""
        return {sample.labels[label] for sample in self.samples if sample.name == f'manila_lite_{name}'}
