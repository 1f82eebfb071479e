# SPDX-License-Identifier: Apache-2.0
"""Each wait of the product is of a kind that loses no signal between its look and its sleep.

* An event that is set once and never cleared: who waits too late does not wait.
* A pause of a few seconds in a loop that looks again: nobody signals.
* The end of a process, or of a thread.
* Everything else, which is an event that is cleared, or a condition, is in ``TESTED``, with the test that puts a signal there.
"""

import ast
import functools
from pathlib import Path

import testtools

ROOT = Path(__file__).resolve().parents[2]
#: Waits whose signal may be taken back, or comes once: where they are, and the test that lets it come in the gap.
TESTED = {
    'engine/runner.py: self._poke': 'simulation/test_gaps.py: class Waits',
    'engine/runner.py: self._urgent': 'simulation/test_gaps.py: class FindsQuickWork',
    'manager/runtime/service.py: self._report_wanted': 'functional/engine/test_signals.py: def test_report',
    'manager/runtime/backend_lease.py: self._changed': (
        'functional/engine/test_leases.py: def test_finish_ends_a_wait_for_the_lease'
    ),
    'rpc/clients.py: self._changed': 'functional/engine/test_signals.py: def test_wake_up',
    'api/events/hub.py: self._changed': 'functional/engine/test_signals.py: def test_new_listener',
    'api/events/listener.py: self._news': 'functional/engine/test_signals.py: def test_event',
    'thread_reserve.py: self._changed': 'functional/engine/test_signals.py: def test_turn',
    'cmd/master.py: self._hurry': 'functional/engine/test_signals.py: def test_restart',
}
#: Waits for the end of a process or of a part of one, and functions that wait by one of the calls here.
_ENDS = (
    'process',
    'taker',
    'proxy',
    'super()',
    'self._server',
    'self._periodic',
    'launcher',
    'listener',
    'self.backend_lease',
    'asyncio',
)
#: Seconds of a pause between two looks, at most.
_PAUSE = 5.0
#: Pauses that are longer, or whose length is given: what for.
_GIVEN = {
    'api/server/stand_in.py StandIn._stand_in': 'a moment in which the first bytes of clients come',
    'cmd/manage/events.py follow': 'as often as the administrator says',
    'cmd/manage/top.py _follow': 'as often as the administrator says',
    'cmd/manage/watch.py watch': 'as often as the administrator says',
    'drivers/cephfs/cluster/cluster.py Cluster._do': 'a growing pause between tries of a command, with an end',
    'drivers/cephfs/shares/shares.py Shares._await_copy': 'a growing pause between looks, with an end',
    'host/waits.py until': 'its callers say how long, with an end',
    'siblings/nfs_fuse.py NfsOperations._renew': 'a moment; its caller tries again',
    'siblings/compute/drivers/fake.py _suffer': 'a driver that is slow on purpose',
}


class _Wait:
    """A call that waits, in the function of that name. ``loops``: whether it is in a loop."""

    def __init__(self, path, function, node, *, loops):
        self.path, self.function, self.loops = path.relative_to(ROOT).as_posix(), function, loops
        self.what, self.on = node.func.attr, ast.unparse(node.func.value)
        self.length = node.args[0] if node.args else None

    @property
    def place(self):
        return f'{self.path} {self.function}'

    @property
    def signal(self):
        return f'{self.path}: {self.on}'


def _waits(path, node, function='', loops=False):
    """Yield the waits below a node."""
    for child in ast.iter_child_nodes(node):
        inside, again = function, loops or isinstance(child, ast.While | ast.For)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside, again = f'{function}.{child.name}'.lstrip('.'), False
        if (
            isinstance(child, ast.Call)
            and isinstance(child.func, ast.Attribute)
            and child.func.attr in ('wait', 'wait_for', 'sleep')
        ):
            yield _Wait(path, inside, child, loops=again)
        yield from _waits(path, child, inside, again)


def _constants(tree):
    """Return the numbers that a module names."""
    found = {}
    for node in tree.body:
        for target in getattr(node, 'targets', ()):
            names, values = (
                (target.elts, node.value.elts)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else ([target], [node.value])
            )
            found |= {
                name.id: value.value
                for name, value in zip(names, values, strict=True)
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant)
            }
    return found


@functools.cache
def _trees():
    texts = {
        path: path.read_text()
        for path in sorted(ROOT.rglob('*.py'))
        if 'tests' not in path.relative_to(ROOT).parts
    }
    return {path: ast.parse(text) for path, text in texts.items() if '.wait' in text or '.sleep(' in text}


class WaitsTest(testtools.TestCase):
    """All waits of the product."""

    def setUp(self):
        super().setUp()
        self.trees = _trees()
        self.waits = [wait for path, tree in self.trees.items() for wait in _waits(path, tree)]

    def signals(self):
        """Return the waits for a signal of another thread."""
        return [wait for wait in self.waits if wait.what != 'sleep' and not wait.on.endswith(_ENDS)]

    def test_signals_that_can_be_missed_have_a_test(self):
        taken_back = {
            f'{path.relative_to(ROOT).as_posix()}: {ast.unparse(node.func.value)}'
            for path, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ('clear', 'notify', 'notify_all')
        }
        self.assertEqual(set(TESTED), {wait.signal for wait in self.signals()} & taken_back)

    def test_named_tests_exist(self):
        for test in TESTED.values():
            path, _, words = test.partition(': ')
            self.assertIn(words, (ROOT / 'tests' / path).read_text(), test)

    def test_sleeps_are_short_and_look_again(self):
        bad, given = [], set()
        for wait in self.waits:
            if wait.what != 'sleep':
                continue
            known = _constants(self.trees[ROOT / wait.path])
            length = known.get(getattr(wait.length, 'id', None), getattr(wait.length, 'value', None))
            if wait.place in _GIVEN:
                given.add(wait.place)
            elif not wait.loops or not isinstance(length, int | float) or length > _PAUSE:
                bad.append(wait.place)
        self.assertEqual([], bad)
        self.assertEqual(set(_GIVEN), given)

    def test_waits_are_found(self):
        self.assertGreater(len(self.waits), 60)
        self.assertGreater(len(self.signals()), 25)
