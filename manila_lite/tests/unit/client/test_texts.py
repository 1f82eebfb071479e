# SPDX-License-Identifier: Apache-2.0
"""Words about an operation."""

import testscenarios
import testtools
from manila_lite_client import texts
from manila_lite_client.operations import Operation

_GIB = 1 << 30


def operation(state='open', **values):
    """Return an operation as the API shows it."""
    return Operation.existing(
        **{
            'id': 'o',
            'kind': 'share.migrate',
            'resource_id': 's',
            'phase': 'copy',
            'step': 4,
            'steps': 6,
            'progress': {},
            'state': state,
            **values,
        }
    )


class Sentences(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        (text, {'op': op, 'text': text})
        for op, text in (
            (operation(), 'share.migrate of s: copy, step 4 of 6'),
            (operation(steps=1), 'share.migrate of s: copy'),
            (operation(undoing=True, steps=1), 'share.migrate of s: undoing copy'),
            (
                operation(
                    progress={
                        'percent': 40,
                        'bytes_done': 12 * _GIB,
                        'bytes_total': 30 * _GIB,
                        'seconds_left': 99,
                    }
                ),
                'share.migrate of s: copy, step 4 of 6, 40 %, 12.0 of 30.0 GiB, 99 s left',
            ),
            (
                operation(progress={'percent': None, 'done': 3, 'total': 10, 'seconds_left': 600}),
                'share.migrate of s: copy, step 4 of 6, 3 of 10, 10 min left',
            ),
            (operation(progress={'bytes_done': _GIB // 2}), 'share.migrate of s: copy, step 4 of 6, 0.5 GiB'),
            (
                operation(error='It has failed so far.', steps=1),
                'share.migrate of s: copy, It has failed so far.',
            ),
            (operation('done'), 'share.migrate of s: done'),
            (operation('failed', error='No room.'), 'share.migrate of s failed: No room.'),
            (operation('failed'), 'share.migrate of s failed: the service gave no reason.'),
            (operation('parked', error='Examine it.'), 'share.migrate of s was set aside: Examine it.'),
        )
    ]

    def test_sentence(self):
        self.assertEqual(self.text, texts.sentence(self.op))


class Harmless(testtools.TestCase):
    def test_text_of_others_steers_no_terminal(self):
        said = texts.sentence(operation('failed', error='\x1b[2J\u202eé\nx'))
        self.assertEqual(r'share.migrate of s failed: \x1b[2J\u202eé\nx', said)
