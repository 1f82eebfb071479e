# SPDX-License-Identifier: Apache-2.0
"""``manila-manage top`` beside a running service: at a terminal, and as plain text."""

import datetime
import os
import re

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.db.queries import operations, services
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.clients import terminal

_GIB = 1 << 30
#: What begins and ends the page of a terminal: another screen, and no cursor.
_BEGIN, _END = ('\x1b[?1049h', '\x1b[?25l'), ('\x1b[?25h', '\x1b[?1049l')
_STEERING = re.compile('\x1b\\[[0-9;?]*[A-Za-z]')


class TopTest(manage.ManageTest):
    """A service, with operations of a backend that no worker serves, so that they stay as they are."""

    def plant(self, **values):
        """Write the row of an operation; return its id."""
        with self.service.services.db.writer() as conn:
            row_id = operations.insert(
                conn,
                **{
                    'kind': 'share.migrate',
                    'resource_type': 'share',
                    'resource_id': uuidutils.generate_uuid(),
                    'project_id': 'p',
                    'topic': 'share',
                    'host': 'test@gone',
                    'lane': 'work',
                    'data': {},
                    **values,
                },
            )
        self.addCleanup(self.change, row_id, state='failed', finished_at=timeutils.utcnow(), owner=None)
        return row_id

    def change(self, row_id, **values):
        with self.service.services.db.writer() as conn:
            conn.execute(models.operations.update().where(models.operations.c.id == row_id).values(**values))

    def copying(self, done):
        return {'progress': {'percent': 10 * done, 'bytes_done': done * _GIB, 'bytes_total': 10 * _GIB}}

    def copy(self, done=4):
        """Write the row of a copy that runs; return its id."""
        return self.plant(owner='worker', data=self.copying(done))


class Plain(TopTest):
    """Output that is no terminal."""

    def test_one_overview_without_signs_that_steer_a_terminal(self):
        share = self.admin.share()
        self.copy()
        evil = 'away\x1b[2J\u202e'
        # The last minute has what ended now, however late the command starts.
        ended = timeutils.utcnow() + datetime.timedelta(minutes=10)
        parked = self.plant(state='parked', finished_at=ended, error=evil)
        with self.service.services.db.reader() as conn:
            about = operations.get(conn, parked).resource_id
            [made] = operations.list_of_resource(conn, share['id'], 'share.create')
        self.change(made.id, finished_at=ended)
        out, _ = self.manage('top')
        self.assertNotRegex(out, '[\x00-\x09\x0b-\x1f\u202e]')
        self.assertRegex(
            out,
            r'operations: 1 running, \d+ waiting   copying 0\.0 MiB/s\n'
            r'last minute: [1-9]\d* done, \d+ failed, [1-9]\d* parked',
        )
        self.assertRegex(out, r'share\.migrate +\S+ +running +40 % +\S+ \(1 of 1\) +4\.0 of 10\.0 GiB')
        self.assertRegex(out, rf'share\.migrate +{about} +parked .*away\\u001b\[2J')
        self.assertRegex(out, rf'{re.escape(share["host"])} +\d+ %')
        self.assertRegex(out, r'manila-scheduler +test +\S+ +up')
        listed = [line.partition(' ')[0] for line in out.splitlines()]
        self.assertTrue(listed.index('operations:') < listed.index('pools:') < listed.index('services:'), out)

    def test_services_that_are_down_come_first_and_disabled_ones_are_named(self):
        with self.service.services.db.writer() as conn:
            services.heartbeat(conn, 'zzz@gone', 'manila-share', 'nova', stopped=True)
            services.set_disabled(conn, 'test', 'manila-scheduler', True, 'why')
        self.addCleanup(
            self.admin.ok, 'PUT', '/services/enable', {'host': 'test', 'binary': 'manila-scheduler'}
        )
        self.addCleanup(self.forget, 'zzz@gone')
        out, _ = self.manage('top')
        _, _, first, *others = out.partition('services: ')[2].splitlines()
        self.assertRegex(first, 'manila-share +zzz@gone +nova +down')
        self.assertRegex('\n'.join(others), r'manila-scheduler +test +\S+ +up, disabled .* why')

    def test_slow_and_failed_requests_of_the_last_hour_are_counted_and_the_worst_shown(self):
        self.assertIn('requests in the last hour: 0 slow, 0 failed (5xx)', self.manage('top')[0])
        self.addCleanup(self.drop, models.request_notes)
        for number in range(7):
            self.note(number, seconds=10.0 + number, slow=1)
        self.note(7, seconds=0.25, code=500, failed=1)
        self.note(8, seconds=3.0, method=None, path=None, code=None, requests=30, slow=20, failed=12)
        self.note(9, seconds=99.0, slow=1, created_at=timeutils.utcnow() - datetime.timedelta(minutes=61))
        out, _ = self.manage('top')
        self.assertIn('requests in the last hour: 27 slow, 13 failed (5xx)', out)
        worst = out.partition('requests: 5\n')[2].splitlines()[1:]
        self.assertRegex(worst[0], r'^30 further requests +3\.00 +\d+ s +api1')
        self.assertRegex(worst[1], r'^GET /v2/shares +500 +0\.25 +\d+ s +api1 +req-7$')
        self.assertEqual(['req-6', 'req-5', 'req-4'], [line.split()[-1] for line in worst[2:]])

    def note(self, number, **values):
        """Write the note of a request."""
        self.add(
            models.request_notes,
            **{
                'id': str(number),
                'created_at': timeutils.utcnow(),
                'api_host': 'api1',
                'method': 'GET',
                'path': '/v2/shares',
                'code': 200,
                'request_id': f'req-{number}',
                'requests': 1,
                'slow': 0,
                'failed': 0,
                **values,
            },
        )

    def forget(self, host):
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.delete().where(models.services.c.host == host))


class AtTerminal(TopTest):
    """A page at a terminal."""

    def top(self, *words):
        running = terminal.Running(
            f'--config-file={self.service.state / "manila_lite.conf"}',
            'top',
            *words,
            env=dict(os.environ),
            at_terminal=True,
            command='manila_lite.cmd.manage:main',
        )
        self.addCleanup(running.close)
        return running

    def assert_as_before(self, running):
        """The other screen was left, and the cursor is shown, whichever way it ended."""
        for begin, end in zip(_BEGIN, reversed(_END), strict=True):
            self.assertIn(begin, running.out)
            self.assertGreater(running.out.rindex(end), running.out.rindex(begin))
        self.assertNotIn('Traceback', running.out)

    def test_bars_move_until_ctrl_c(self):
        copy = self.copy()
        running = self.top('--every', '0.1')
        running.says(re.compile('━.* 40 %'))
        self.change(copy, data=self.copying(8))
        running.says(re.compile('━.* 80 %'))
        running.says('MiB/s')
        self.change(copy, state='done', finished_at=timeutils.utcnow(), owner=None)
        running.says(re.compile(r'operations: 0 running'))
        running.interrupt()
        self.assertEqual(130, running.ended())
        self.assert_as_before(running)

    def test_sigterm_gives_the_terminal_back(self):
        running = self.top()
        running.says('SERVICE')
        running.terminate()
        self.assertEqual(130, running.ended())
        self.assert_as_before(running)

    def test_once_prints_plain_text(self):
        running = self.top('--once')
        self.assertEqual(0, running.ended())
        self.assertIn('services: ', running.out)
        self.assertNotRegex(running.out, _STEERING)

    def test_texts_of_others_do_not_steer_the_terminal(self):
        self.plant(error='\x1b]0;owned\x07', kind='[red]x[/red]')
        running = self.top('--every', '0.1')
        running.says('[red]x[/red]')
        running.says('\\u001b]0;owned')
        running.interrupt()
        running.ended()
        self.assertNotIn('\x1b]0;owned', running.out)
