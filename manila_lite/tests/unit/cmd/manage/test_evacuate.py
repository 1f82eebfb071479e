# SPDX-License-Identifier: Apache-2.0

import types

import testtools

from manila_lite.cmd.manage import evacuate
from manila_lite.operation_data.evacuation import Evacuate, Figures

_FIGURES = Figures(done=1, total=3, moving=2, left=0, percent=40, seconds_left=9)


def shown(state='open', error=None, code=None, names=None, **data):
    carried = Evacuate(
        **{'host': 'h', 'began': 0.0, 'at_once': 1, 'dry_run': False, 'progress': _FIGURES, **data}
    )
    return evacuate.progress(
        types.SimpleNamespace(id='o', state=state, error=error, error_code=code), carried, names or {}
    )


class Progress(testtools.TestCase):
    def test_course(self):
        now = shown()
        self.assertEqual(
            ('evacuating', 40, '1 of 3 resources, 2 moving', 9, None),
            (now.phase, now.percent, now.detail, now.seconds_left, now.ended),
        )
        self.assertEqual(
            ('planning', '', None),
            (
                shown(dry_run=True, progress=Figures()).phase,
                shown(progress=Figures()).detail,
                shown(progress=Figures()).percent,
            ),
        )

    def test_empty_host_is_a_success_although_a_reason_is_left(self):
        now = shown('done', left={'s': 'It is gone.'})
        self.assertEqual(('empty', True, ''), (now.phase, now.ended, now.hint))

    def test_plan_with_something_that_stays(self):
        now = shown('done', dry_run=True, left={'s': 'No backend may take it.'})
        self.assertEqual(
            ('planned', False, 's stays: No backend may take it.'), (now.phase, now.ended, now.hint)
        )

    def test_49_17_what_stays_has_its_name(self):
        now = shown('done', dry_run=True, left={'s': 'So.', 't': 'Too.'}, names={'s': 'docs'})
        self.assertEqual('docs (s) stays: So.\nt stays: Too.', now.hint)

    def test_end_that_is_no_success(self):
        now = shown('failed', 'Why.', left={str(number): 'so' for number in range(21)})
        self.assertEqual(('failed', False), (now.phase, now.ended))
        self.assertEqual(
            ['Why.', '0 stays: so', 'and 1 more; see GET /v2/operations/o'],
            [*now.hint.split('\n')[:2], now.hint.split('\n')[-1]],
        )
        self.assertEqual('stopped', shown('failed', 'Why.', 'evacuation_stopped').phase)
