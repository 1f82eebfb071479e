# SPDX-License-Identifier: Apache-2.0
"""Every pause that a module names is longer than zero: a loop without a pause uses up a processor."""

import ast
import contextlib
import itertools
import pathlib
import re

import testtools

import manila_lite

_HOME = pathlib.Path(manila_lite.__file__).parent
_SECONDS = re.compile(r'#: .*\bseconds\b', re.IGNORECASE)


def named(path):
    """Return the names and values of a module's constants that are seconds by the comment right above them."""
    text = path.read_text()
    lines = text.splitlines()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and any(map(_SECONDS.match, above(lines, node.lineno - 1))):
            for name, value in zip(*map(parts, (node.targets[0], node.value)), strict=False):
                with contextlib.suppress(ValueError):  # it is computed from other numbers
                    found[ast.unparse(name)] = ast.literal_eval(value)
    return {name: number for name, number in found.items() if isinstance(number, (int, float))}


def above(lines, number):
    """Return the comment right above the line."""
    return itertools.takewhile(lambda line: line.startswith('#:'), reversed(lines[:number]))


def parts(node):
    return node.elts if isinstance(node, ast.Tuple) else [node]


class Pauses(testtools.TestCase):
    def test_each_pause_is_longer_than_zero(self):
        seen = {}
        for path in sorted(_HOME.rglob('*.py')):
            where = '.'.join(('manila_lite', *path.relative_to(_HOME).with_suffix('').parts))
            if not where.startswith('manila_lite.tests.'):
                seen.update((f'{where}.{name}', number) for name, number in named(path).items())
        self.assertEqual({}, {name: number for name, number in seen.items() if number <= 0})
        # Constants are found: also one of several in a line.
        self.assertLessEqual(
            {'manila_lite.manager.plans.share_servers._SOON', 'manila_lite.manager.plans.access.MOVED_SOON'},
            set(seen),
        )
