# SPDX-License-Identifier: Apache-2.0

import datetime
import io

import testtools
from rich.console import Console
from rich.screen import Screen

from manila_lite.cmd.manage import overview_page
from manila_lite.cmd.manage.overview import Overview
from manila_lite.db.queries.request_notes import Counts

_AT = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - as in the database


def _now(count):
    """Return an overview with so many operations, pools, services and requests."""
    return Overview(
        _AT,
        count,
        0,
        {'minute': {'done': 3}},
        1.5,
        [
            {
                'operation': 'share.migrate',
                'resource': f'operation {number}',
                'state': 'running',
                'phase': 'copy (2 of 5)',
                'percent': 40,
                'figures': '4.0 of 10.0 GiB',
                'rate': '1.5 MiB/s',
                'left': '9 s',
                'age': '3 s',
                'host': 'h@b',
                'error': '',
                'is_bad': False,
            }
            for number in range(count)
        ],
        [
            {
                'pool': f'h@b#{number}',
                'used': None,
                'GiB used': 'unknown',
                'GiB promised': '1.0',
                'backend': 'up',
                'is_bad': False,
            }
            for number in range(count)
        ],
        [
            {
                'service': 'manila-share',
                'host': f'h@{number}',
                'zone': 'nova',
                'state': 'down',
                'heartbeat': '9 min',
                'clock': '',
                'release': '1',
                'reason': '',
                'is_bad': True,
            }
            for number in range(count)
        ],
        Counts(7, count),
        [
            {
                'request': f'GET /v2/{number}',
                'status': 500,
                'seconds': '1.50',
                'age': '9 min',
                'host': 'h',
                'request id': 'req-1',
                'is_bad': True,
            }
            for number in range(count)
        ],
    )


class ShareOut(testtools.TestCase):
    def test_everybody_gets_what_they_want_if_there_is_room(self):
        self.assertEqual([3, 1, 2], overview_page.share_out(6, [3, 1, 2]))

    def test_what_some_do_not_want_goes_to_others(self):
        self.assertEqual([7, 1, 2], overview_page.share_out(10, [50, 1, 2]))
        self.assertEqual([5, 0, 5], overview_page.share_out(10, [50, 0, 70]))

    def test_without_room_there_is_nothing(self):
        self.assertEqual([0, 0], overview_page.share_out(-3, [4, 4]))


class PageTest(testtools.TestCase):
    def drawn(self, now, width, height, trouble=''):
        """Return the lines of a terminal of this size."""
        console = Console(
            file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None
        )
        console.print(Screen(overview_page.Page(now, trouble)), end='')
        return [line.rstrip() for line in console.file.getvalue().split('\n')]

    def test_page_fits_every_terminal_and_says_what_is_left_out(self):
        for width, height in ((80, 24), (200, 50), (40, 10)):
            lines = self.drawn(_now(40), width, height)
            self.assertEqual(height, len(lines))
            self.assertLessEqual(max(map(len, lines)), width)
        lines = self.drawn(_now(40), 200, 50)
        for name in ('operation', 'h@b#', 'h@', 'GET /v2/'):
            self.assertTrue(any(f'{name}' in line for line in lines), lines)
        shown = sum('share.migrate' in line for line in lines)
        self.assertIn(f'and {40 - shown} more', lines)
        self.assertEqual(4, sum(line.startswith('and ') for line in lines))

    def test_all_is_shown_where_it_fits(self):
        lines = self.drawn(_now(3), 200, 50)
        self.assertEqual([], [line for line in lines if line.startswith('and ')])
        self.assertEqual(
            3, sum('4.0 of 10.0 GiB' in line and '9 s' in line and '40 %' in line for line in lines), lines
        )

    def test_narrow_terminals_show_the_columns_that_matter(self):
        text = '\n'.join(self.drawn(_now(2), 80, 24))
        self.assertIn('LEFT', text)
        self.assertNotIn('FIGURES', text)
        self.assertNotIn('ERROR', text)

    def test_figures_are_never_cut(self):
        for width in (80, 120, 160):
            lines = self.drawn(_now(2), width, 24)
            self.assertEqual(
                2, sum('running ' in line and '40 %' in line and '9 s' in line for line in lines), lines
            )
        self.assertIn('1.5 MiB/s', self.drawn(_now(2), 120, 24)[5])

    def test_nothing_is_said_to_be_none(self):
        self.assertEqual(4, self.drawn(_now(0), 80, 24).count('none'))

    def test_trouble_is_shown_above_what_was(self):
        lines = self.drawn(_now(1), 120, 24, trouble='The database\x1b[2J does not answer')
        self.assertEqual('The database\\u001b[2J does not answer', lines[3])
        self.assertIn('h@b#0', '\n'.join(lines))
