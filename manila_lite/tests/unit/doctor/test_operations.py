# SPDX-License-Identifier: Apache-2.0
"""Verdicts on an operation, given the services around it."""

import collections
import datetime
import types

import testscenarios
import testtools

from manila_lite.doctor import operations
from manila_lite.engine import process_names

_NOW = datetime.datetime.fromisoformat('2030-01-01')
_ELSEWHERE = 'elsewhere/1-1/1/1'
_HERE = process_names.name()


def _at(seconds):
    return _NOW + datetime.timedelta(seconds=seconds)


class JudgeTest(testscenarios.WithScenarios, testtools.TestCase):
    """One operation with a backend that is up, a backend that is down, and a scheduler."""

    scenarios = [
        (name, {'values': values, 'why': why, 'wrong': wrong, 'mendable': mendable})
        for name, values, why, wrong, mendable in (
            (
                'at work',
                {'owner': _ELSEWHERE, 'lease_expires_at': _at(1)},
                'is being worked on by elsewhere',
                False,
                False,
            ),
            (
                'at work here',
                {'owner': _HERE, 'lease_expires_at': _at(1)},
                'is being worked on by',
                False,
                False,
            ),
            (
                'undone',
                {'owner': _HERE, 'lease_expires_at': _at(1), 'undoing': True},
                'is being undone',
                False,
                False,
            ),
            (
                'lease just over',
                {'owner': _ELSEWHERE, 'lease_expires_at': _at(-9)},
                'ran out 9 s ago',
                False,
                False,
            ),
            (
                'lease over',
                {'owner': _ELSEWHERE, 'lease_expires_at': _at(-10)},
                'ran out 10 s ago',
                True,
                True,
            ),
            ('no lease', {'owner': _ELSEWHERE}, 'ran out', True, True),
            ('dead', {'owner': _HERE + '1', 'lease_expires_at': _at(99)}, 'is dead', True, True),
            ('later', {'next_run_at': _at(60)}, 'looks again in 60 s', False, False),
            ('much later', {'next_run_at': _at(3601)}, 'was a clock wrong', True, True),
            ('due', {'next_run_at': _at(-9)}, 'is due', False, False),
            ('overdue', {'next_run_at': _at(-10)}, 'does not claim it', True, True),
            (
                'behind another',
                {'next_run_at': _at(-99), 'mutex_key': 's'},
                'behind operation other',
                False,
                False,
            ),
            ('queue', {'next_run_at': _at(-99), 'lane': 'fast'}, 'free worker', False, False),
            ('down', {'host': 'h@down'}, 'which is down', True, False),
            ('unknown', {'host': 'h@new'}, 'manila-manage share update_host', True, False),
            (
                'unknown, of a backup',
                {'host': 'h@new', 'resource_type': 'share_backup'},
                'manila-manage share_backup update_host',
                True,
                False,
            ),
            ('any scheduler', {'topic': 'scheduler', 'host': ''}, 'is due', False, False),
            ('unknown topic', {'topic': 'data'}, "service 'data'", True, False),
            ('parked', {'state': 'parked', 'error': 'out of reach'}, 'out of reach', True, True),
        )
    ]

    def test_operation_gets_the_expected_verdict(self):
        op = types.SimpleNamespace(
            **{
                'id': 'this',
                'state': 'open',
                'kind': 'share.create',
                'resource_type': 'share',
                'topic': 'share',
                'host': 'h@up',
                'lane': 'work',
                'mutex_key': None,
                'owner': None,
                'lease_expires_at': None,
                'next_run_at': _NOW,
                'undoing': False,
                'error': None,
                **self.values,
            }
        )
        world = operations._World(
            _NOW,
            10.0,
            {
                ('manila-share', 'h@up'): True,
                ('manila-share', 'h@down'): False,
                ('manila-scheduler', 'a'): False,
                ('manila-scheduler', 'b'): True,
            },
            {},
            collections.Counter({('share', 'h@up', 'fast'): 4}),
            {'s': 'other'},
            set(),
        )
        verdict = operations._judge(op, world)
        self.assertIn(self.why, verdict.why)
        self.assertEqual((self.wrong, self.mendable), (verdict.wrong, verdict.mend is not None))
