# SPDX-License-Identifier: Apache-2.0
"""Requests with an Idempotency-Key: each makes one object, also if it is repeated at once, later, or after a crash."""

import argparse
import concurrent.futures
import datetime
import json
import os
import re
import shlex
import signal
import threading
from pathlib import Path

import sqlalchemy as sa
import webob
import webtest
from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.api.http import idempotency
from manila_lite.api.request import Request
from manila_lite.db import models
from manila_lite.db.queries import idempotency_keys
from manila_lite.tests import forks, waiting
from manila_lite.tests.functional import base, idempotency_victim
from manila_lite.tests.functional.api import test_budgets

SHARE = {'share': {'size': 1, 'share_proto': 'NFS', 'metadata': {'a': 'b', 'c': 'd'}}}
DOC = Path(__file__).resolve().parents[4] / 'doc/source/user'
VERSION = 'X-OpenStack-Manila-API-Version'


class IdempotencyTest(base.ServiceTest):
    PARTS = ('share',)

    def setUp(self):
        super().setUp()
        self.me = self.caller(project=self.id())

    def post(self, key, body=SHARE, path='/shares', caller=None, **more):
        """Send a request; return status, document and whether the answer is a replayed one."""
        status, document, headers = (caller or self.me).call(
            'POST', path, body, headers={idempotency.HEADER: key}, **more
        )
        self.waits = headers.get('Retry-After') == '1'
        return status, document, headers.get(idempotency.REPLAYED) == 'true'

    def made(self, key, **more):
        """Send a request that must make a new object; return the document."""
        status, document, replayed = self.post(key, **more)
        self.assertEqual((False, True), (replayed, status < 300), document)
        return document

    def refused(self, status, code, key, **more):
        found, document, replayed = self.post(key, **more)
        self.assertEqual((status, False), (found, replayed), document)
        self.assertEqual(status == 409, self.waits)
        (fault,) = document.values()
        self.assertEqual(code, fault['reason'])
        return fault['message']

    def shares(self):
        return {share['id'] for share in self.me.ok('GET', '/shares')['shares']}

    def later(self, **values):
        """Set values in the rows of all keys."""
        with self.service.services.db.writer() as conn:
            conn.execute(models.idempotency_keys.update().values(**values))


class Again(IdempotencyTest):
    PARTS = ('scheduler', 'share')

    def test_repeated_request_is_replayed_for_every_supporting_call(self):
        share = self.me.share()['id']
        rule = {'allow_access': {'access_type': 'ip', 'access_to': '192.0.2.1', 'access_level': 'ro'}}
        for path, body, where, key in (
            ('/shares', SHARE, '/shares', 'shares'),
            ('/snapshots', {'snapshot': {'share_id': share, 'name': 'x'}}, '/snapshots', 'snapshots'),
            (f'/shares/{share}/action', rule, f'/share-access-rules?share_id={share}', 'access_list'),
            ('/share-networks', {'share_network': {'name': 'x'}}, '/share-networks', 'share_networks'),
        ):
            before = len(self.me.ok('GET', where)[key])
            first = self.me.call('POST', path, body, headers={idempotency.HEADER: 'k' + key})
            again = self.me.call('POST', path, body, headers={idempotency.HEADER: f'"k{key}"'})
            self.assertLess(first[0], 300, first[1])
            self.assertEqual(first[:2], again[:2])
            self.assertEqual(
                (None, 'true'), (first[2].get(idempotency.REPLAYED), again[2].get(idempotency.REPLAYED))
            )
            self.assertEqual(first[2]['Content-Type'], again[2]['Content-Type'])
            self.assertEqual(before + 1, len(self.me.ok('GET', where)[key]))

    def test_replay_returns_the_first_answer_after_the_share_changed(self):
        share = self.made('then')['share']
        self.me.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.assertEqual((200, {'share': share}, True), self.post('then'))
        self.me.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual((200, {'share': share}, True), self.post('then'))


class Keys(IdempotencyTest):
    def test_reordered_body_fields_are_the_same_request(self):
        first = self.made('layout')
        other = {'share': {'metadata': {'c': 'd', 'a': 'b'}, 'share_proto': 'NFS', 'size': 1}}
        self.assertEqual((200, first, True), self.post('layout', other))

    def test_key_reused_for_another_request_is_refused(self):
        share = self.made('other')['share']
        for more in (
            {'body': {'share': {**SHARE['share'], 'size': 2}}},
            {'version': '2.50'},
            {'path': f'/{self.me.token.split(":")[1]}/shares'},
            {'path': '/share-networks', 'body': {'share_network': {'name': 'x'}}},
        ):
            self.refused(422, 'idempotency_key_reused', 'other', **more)
        self.assertEqual({share['id']}, self.shares())
        self.assertEqual((200, {'share': share}, True), self.post('other'))

    def test_same_key_of_another_caller_makes_a_new_share(self):
        mine = self.made('mine')['share']['id']
        for caller in (self.caller('p2'), self.caller(self.id(), user='other')):
            self.assertNotEqual(mine, self.made('mine', caller=caller)['share']['id'])

    def test_caller_without_permission_gets_no_replay(self):
        self.made('may')
        self.refused(403, 'forbidden', 'may', caller=self.caller(self.id(), roles='reader'))

    def test_malformed_keys_are_refused(self):
        for key in ('', ' ', 'a b', '"a', 'a"b', '""', 'a' * 256, 'a\\b', 'a\xe4', '"a" '[:3] + 'x'):
            self.assertIn(idempotency.HEADER, self.refused(400, 'invalid_input', key))
        self.assertEqual(set(), self.shares())
        for key in ('a', 'a' * 255, "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", 'K', 'k'):
            self.made(key)

    def test_calls_without_idempotency_support_are_not_replayed(self):
        share = self.me.share(wait=None)['id']
        for _ in range(2):
            status, _, replayed = self.post('x', {'metadata': {'k': 'v'}}, f'/shares/{share}/metadata')
            self.assertEqual((200, False), (status, replayed))

    def test_refused_request_can_be_repeated_with_the_same_key(self):
        self.refused(400, 'invalid_input', 'refused', body={'share': {'size': 'x', 'share_proto': 'NFS'}})
        quota = f'/quota-sets/{self.id()}'
        self.admin.ok('PUT', quota, {'quota_set': {'shares': 0}})
        for _ in range(2):
            self.refused(413, 'over_quota_shares', 'refused')
        self.admin.ok('PUT', quota, {'quota_set': {'shares': 1}})
        share = self.made('refused')
        self.assertEqual((200, share, True), self.post('refused'))

    def test_expired_key_makes_a_new_share(self):
        first = self.made('day')
        with self.service.services.db.reader() as conn:
            row = conn.execute(
                models.idempotency_keys.select().order_by(models.idempotency_keys.c.created_at.desc())
            ).first()
        self.assertEqual(
            datetime.timedelta(hours=24), row.expires_at - row.claimed_until + datetime.timedelta(seconds=60)
        )
        past = timeutils.utcnow() - datetime.timedelta(seconds=1)
        self.later(expires_at=past)
        second = self.made('day', body={'share': {**SHARE['share'], 'name': 'anew'}})
        self.assertNotEqual(first['share']['id'], second['share']['id'])

    def test_expired_keys_are_purged(self):
        self.made('old')
        self.later(expires_at=timeutils.utcnow() - datetime.timedelta(seconds=1))
        self.made('new')
        self.service.scheduler._purge()
        with self.service.services.db.reader() as conn:
            self.assertEqual(
                1, conn.execute(sa.select(sa.func.count()).select_from(models.idempotency_keys)).scalar()
            )

    def test_key_costs_at_most_three_more_statements(self):
        self.made('warm')
        with test_budgets.counting(self.service.services.db.engine) as counter:
            self.made('counted')
        mine = [text for text in counter.asked() if 'SAVEPOINT' not in text]
        self.assertLessEqual(len(mine), test_budgets.API_STATEMENTS + 3, mine)
        self.assertLessEqual(counter.transactions.count('MainThread'), 2)
        with test_budgets.counting(self.service.services.db.engine) as counter:
            self.assertTrue(self.post('counted')[2])
        mine = [text for text in counter.asked() if 'SAVEPOINT' not in text]
        self.assertLessEqual(len(mine), 3, mine)


class Pages(IdempotencyTest):
    """The curl commands on pages for users."""

    def curl(self, page):
        """Run all curl commands of a page; return the answers."""
        text = (DOC / page).read_text().replace('\\\n', ' ')
        return [
            self.answer(*shlex.split(words)) for words in re.findall(r'^    curl (.*)$', text, re.MULTILINE)
        ]

    def answer(self, *words):
        parser = argparse.ArgumentParser()
        parser.add_argument('-s', action='store_true')
        for name, default in (('-X', 'GET'), ('-d', '')):
            parser.add_argument(name, default=default)
        parser.add_argument('-H', action='append', default=[])
        parser.add_argument('url')
        asked = parser.parse_args(words)
        headers = {'X-Auth-Token': self.me.token, **dict(header.split(': ', 1) for header in asked.H)}
        return self.service.app.request(
            asked.url.removeprefix('http://127.0.0.1:8786'),
            method=asked.X,
            body=asked.d.encode(),
            headers=headers,
        )

    def test_retry_command_of_the_page_is_replayed(self):
        [first], [again] = self.curl('retries.rst'), self.curl('retries.rst')
        self.assertEqual(
            (first.body, None, 'true'),
            (again.body, first.headers.get(idempotency.REPLAYED), again.headers.get(idempotency.REPLAYED)),
        )
        self.assertEqual(1, len(self.shares()))

    def test_openapi_commands_of_the_page_return_their_versions(self):
        self.assertEqual(
            [base.LATEST, '2.65', '2.65'],
            [answer.json['info']['version'] for answer in self.curl('openapi.rst')],
        )


class AtOnce(IdempotencyTest):
    CLIENTS, ROUNDS = 4, 6

    def test_simultaneous_requests_make_one_share(self):
        ready = threading.Barrier(self.CLIENTS)

        def post(key):
            client = base.Api(webtest.TestApp(self.service.wsgi), 'u', self.id())
            ready.wait(waiting.LIMIT)
            return self.post(key, caller=client)

        with concurrent.futures.ThreadPoolExecutor(self.CLIENTS) as pool:
            for number in range(self.ROUNDS):
                answers = list(pool.map(post, [f'once-{number}'] * self.CLIENTS))
                self.assertLessEqual({status for status, _, _ in answers}, {200, 409}, answers)
                fresh = [document for status, document, replayed in answers if status == 200 and not replayed]
                old = [document for _, document, replayed in answers if replayed]
                self.assertEqual(1, len(fresh), answers)
                self.assertEqual(fresh * len(old), old)
                self.assertEqual((200, fresh[0], True), self.post(f'once-{number}'))
        self.assertEqual(self.ROUNDS, len(self.shares()))

    def test_request_that_lost_its_claim_commits_nothing(self):
        """Commit nothing if another request has taken the claim before the work began."""
        document = {'share': {'size': 1}}
        raw = webob.Request.blank('/v2/shares', method='POST', headers={idempotency.HEADER: 'slow'})
        req = Request(raw, self.service.context(self.id()), 99, '')

        def make():
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                pool.submit(self.later, claim='another').result(waiting.LIMIT)
            with req.ctx.db.writer() as conn:
                conn.execute(
                    models.quota_classes.insert().values(class_name=self.id(), resource='x', hard_limit=1)
                )
            return webob.Response('{}')

        self.assertRaises(errors.InFlight, idempotency.answer, req, document, make)
        with req.ctx.db.reader() as conn:
            rows = conn.execute(
                models.quota_classes.select().where(models.quota_classes.c.class_name == self.id())
            ).all()
            self.assertEqual([], rows)
            self.assertEqual('another', idempotency_keys.get(conn, idempotency._key_of(req)).claim)


class Killed(IdempotencyTest):
    def killed(self, place, key):
        """Let an API process be killed at a place while it answers."""
        headers = {
            'X-Auth-Token': self.me.token,
            VERSION: base.LATEST,
            idempotency.HEADER: key,
            'Content-Type': 'application/json',
        }
        done = forks.run(
            'manila_lite.tests.functional.idempotency_victim:main',
            self.service.state / 'manila_lite.conf',
            place,
            json.dumps(headers),
            json.dumps(SHARE),
            env=dict(os.environ),
        )
        self.assertEqual(-signal.SIGKILL, done.returncode, done.stdout + done.stderr)

    def test_request_killed_before_the_commit_can_be_repeated(self):
        for place in ('in the work', 'before the commit'):
            self.killed(place, place.replace(' ', '-'))
            before = self.shares()
            self.refused(409, 'idempotency_key_in_flight', place.replace(' ', '-'))
            self.later(claimed_until=timeutils.utcnow() - datetime.timedelta(seconds=1))
            share = self.made(place.replace(' ', '-'))['share']['id']
            self.assertEqual({*before, share}, self.shares())

    def test_request_killed_after_the_commit_is_replayed(self):
        self.killed('after the commit', 'after')
        (share,) = self.shares()
        status, document, replayed = self.post('after')
        self.assertEqual((200, share, True), (status, document['share']['id'], replayed))
        self.assertEqual({share}, self.shares())

    def test_every_kill_point_is_tested(self):
        self.assertEqual(
            {'in the work', 'before the commit', 'after the commit'}, set(idempotency_victim.PLACES)
        )
