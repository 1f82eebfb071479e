# SPDX-License-Identifier: Apache-2.0
"""Clocks that tests can set: the calendar is that of ``timeutils``, and the engine's parts read their environment's clock."""

import ast
from pathlib import Path

import testtools

ROOT = Path(__file__).resolve().parents[2]
#: Readings of the calendar that no test can set.
CALENDAR = ('time.time', 'datetime.now', 'datetime.utcnow', 'datetime.today', 'date.today')
#: Where they stay, and why.
GIVEN = {
    'host/clock.py': 'compared with a steady clock, and with that of the database',
    'api/http/token_memory.py': 'the end of a token, as Keystone said it',
    'api/http/token_buckets.py': 'the calendar of the memcached servers, which all processes share',
    'drivers/cephfs/volumes/evictions.py': 'stored in the cluster, beside times of other hosts',
    'drivers/cephfs/volumes/objects.py': 'stored in the cluster, as well',
    'policies/files.py': 'compared with the time of a file, by the kernel',
    'drivers/file_servers/file_server.py': 'compared with the start of a process, by the kernel',
}
#: Packages whose leases and timers have an environment with a clock (``engine/environment.py``), and files that need none.
WITH_ENVIRONMENT = ('engine/', 'manager/runtime/', 'scheduler/')
THE_ENVIRONMENT = 'engine/environment.py'
#: Readings of the clock that is never set, and pauses.
CLOCK = ('time.monotonic', 'time.clock_gettime', 'time.perf_counter', 'time.sleep', 'time.thread_time')


def _calls(names):
    """Yield the files that call, or pass on, one of these functions; a name may have a module before it."""
    for path in sorted(ROOT.rglob('*.py')):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith('tests/'):
            continue
        text = path.read_text()
        if not any(name in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and ast.unparse(node).endswith(names):
                yield place


class ClocksTest(testtools.TestCase):
    def test_calendar_is_that_of_timeutils(self):
        self.assertEqual(set(GIVEN), set(_calls(CALENDAR)))

    def test_engine_and_runtime_read_the_clock_of_their_environment(self):
        read = {place for place in _calls(CLOCK) if place.startswith(WITH_ENVIRONMENT)}
        self.assertEqual({THE_ENVIRONMENT}, read)
