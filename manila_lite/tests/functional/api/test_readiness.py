# SPDX-License-Identifier: Apache-2.0
"""Readiness: an API that cannot answer requests says so, and what is missing; its liveness is another path."""

import contextlib
import http.client
import json

import sqlalchemy as sa
import testtools

from manila_lite.tests import process, waiting

#: There is an API alone.
_ALONE = 'no scheduler is up: new shares wait for manila-scheduler'


class Readiness(testtools.TestCase):
    """The API alone, and a database whose schema is that of another release for a while."""

    def ask(self, parts, path='/readiness'):
        """Ask without a login; return status, document and headers."""
        with contextlib.closing(
            http.client.HTTPConnection('127.0.0.1', parts.port, timeout=waiting.LIMIT)
        ) as wire:
            wire.request('GET', path)
            answer = wire.getresponse()
            text = answer.read()
        return answer.status, json.loads(text) if text[:1] == b'{' else None, answer.headers

    def test_api_is_ready_while_its_database_has_the_tables_of_its_release(self):
        parts = self.useFixture(process.Parts())
        parts.run('api')
        parts.until(parts.answers, 'the API answers')
        self.assertEqual((200, {'ready': True, 'missing': [], 'degraded': [_ALONE]}), self.ask(parts)[:2])
        engine = sa.create_engine(f'sqlite:///{parts.state}/manila_lite.sqlite')
        self.addCleanup(engine.dispose)
        with engine.begin() as conn:
            newest = conn.execute(sa.text('SELECT version_num FROM alembic_version')).scalar_one()
        for revision, status in (('0003', 503), (newest, 200)):
            with engine.begin() as conn:
                conn.execute(
                    sa.text('UPDATE alembic_version SET version_num = :revision'), {'revision': revision}
                )
            waiting.until(
                lambda status=status: self.ask(parts)[0] == status, lambda: json.dumps(self.ask(parts)[1])
            )
            self.assertEqual(200, self.ask(parts, '/healthcheck')[0])
            if status == 503:
                _, document, headers = self.ask(parts)
                self.assertEqual(
                    {
                        'ready': False,
                        'degraded': [_ALONE],
                        'missing': [
                            'the database has not the tables of this release: run the command for its schema (db sync)'
                        ],
                    },
                    document,
                )
                self.assertEqual('1', headers['Retry-After'])

    def test_49_16_api_says_that_no_scheduler_is_up_until_one_is(self):
        parts = self.useFixture(process.Parts())
        parts.run('api')
        parts.until(parts.answers, 'the API answers')
        self.assertEqual([_ALONE], self.ask(parts)[1]['degraded'])
        parts.run('scheduler')
        waiting.until(
            lambda: self.ask(parts)[1] == {'ready': True, 'missing': [], 'degraded': []},
            lambda: json.dumps(self.ask(parts)[1]),
        )
