# SPDX-License-Identifier: Apache-2.0
"""Isolation of callers with a password (HTTP Basic), for all other headers and queries."""

import base64
import json

import bcrypt
import webtest

from manila_lite.api import versions
from manila_lite.api.http import app, idempotency
from manila_lite.tests.functional import base, queries, walking

_ACCOUNTS = ['alice:first:member+reader', 'bob:second:member+reader', 'rita:second:reader']
_SHARE = {'share': {'size': 1, 'share_proto': 'NFS'}}


def _timeless(answer):
    """Return a status and a document without the ids of resets, which go by the clock."""
    status, document = answer
    if 'events' in document:
        events = [
            event if event['event'] != 'reset' else {**event, 'id': None} for event in document['events']
        ]
        document = {**document, 'events': events}
    return status, document


class Basic(base.Api):
    """A caller with a password. ``claims``: further headers."""

    def __init__(self, served, user, claims=None):
        super().__init__(served, *(('alice', 'first', 'admin') if claims else ('', '', '')))
        secret = base64.b64encode(f'{user}:right {user}'.encode()).decode()
        self.sent = {'Authorization': f'Basic {secret}', **(claims or {})}

    def call(self, method, path, body=None, *, version=None, headers=None):
        return super().call(method, path, body, version=version, headers={**self.sent, **(headers or {})})


class Passwords(walking.WalkTest):
    """bob and rita are of the second project; nobody has a password, and no project."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = cls.service.state / 'htpasswd'
        path.write_text(
            ''.join(
                f'{user}:{bcrypt.hashpw(f"right {user}".encode(), bcrypt.gensalt(4)).decode()}\n'
                for user in ('alice', 'bob', 'rita', 'nobody')
            )
        )
        for name, value in (('http_basic_auth_user_file', str(path)), ('http_basic_accounts', _ACCOUNTS)):
            cls.service.conf.set_override(name, value, 'api')
        cls.service.conf.set_override('auth_strategy', 'http_basic')
        cls.served = webtest.TestApp(app.make(cls.service.services))

    def pair(self, user):
        """Return a caller, and the same with headers that claim to be an administrator of the first project."""
        return Basic(self.served, user), Basic(self.served, user, walking.CLAIMS)

    def lists_of(self, user):
        """Return the statuses of all lists with all queries, which claims do not change."""
        plain, claiming = self.pair(user)
        statuses = set()
        for op in self.lists():
            for query in ('', *queries.of(op, self.world, self.theirs(op))):
                status, document = answer = self.listed(plain, op, query)
                self.assertEqual(
                    _timeless(answer), _timeless(self.listed(claiming, op, query)), (op.path, query)
                )
                if status == 200:
                    rows = {name: value for name, value in document.items() if not name.endswith('_links')}
                    self.assert_nothing_of_the_first(rows, (op.path, query))
                statuses.add(status)
        return statuses

    def test_lists_show_no_rows_of_another_project(self):
        self.assertEqual({200, 400, 403, 404}, self.lists_of('bob'))
        self.assertEqual({200, 400, 403, 404}, self.lists_of('rita'))

    def test_lists_are_forbidden_without_a_project(self):
        for caller in self.pair('nobody'):
            self.assertEqual({403}, {self.listed(caller, op)[0] for op in self.lists()})

    def test_foreign_ids_in_paths_are_refused(self):
        for user, statuses in (('bob', {403, 404}), ('rita', {403, 404}), ('nobody', {403})):
            for caller in self.pair(user):
                self.assertEqual(statuses, self.refused(caller), user)

    def test_other_project_in_the_path_is_refused_like_an_unknown_one(self):
        for caller in self.pair('bob'):
            for path in ('/{}/shares', f'/{{}}/shares/{self.world["share_id"]}'):
                (status, found), (blank, nothing) = (
                    caller.call('GET', path.format(project))[:2] for project in ('first', 'third')
                )
                self.assertEqual((400, 400), (status, blank), path)
                self.assertEqual(json.dumps(nothing), json.dumps(found).replace('first', 'third'))

    def test_idempotent_answer_of_another_caller_is_not_replayed(self):
        kept = {idempotency.HEADER: 'the-same-for-all'}
        alice, _ = self.pair('alice')
        theirs, again = (alice.ok('POST', '/shares', _SHARE, headers=kept)['share'] for _ in range(2))
        self.assertEqual(theirs, again)
        for user, allowed in (('bob', True), ('rita', False), ('nobody', False)):
            for caller in self.pair(user):
                status, document, _ = caller.call('POST', '/shares', _SHARE, headers=kept)
                self.assertEqual(200 if allowed else 403, status, document)
                self.assertNotIn(theirs['id'], json.dumps(document))
                self.assertEqual('second', document['share']['project_id'] if allowed else 'second')

    def test_owner_finds_its_resources_by_id(self):
        """Check that the ids are right, and that the password of their owner opens them."""
        alice, _ = self.pair('alice')
        wanted = {'shares.show', 'snapshots.show', 'share_networks.show', 'share_groups.show'}
        ops = [op for op in self.ops() if op.name in wanted]
        self.assertEqual(wanted, {op.name for op in ops})
        for op in ops:
            self.assertEqual(200, self.call(alice, op, versions.MAX, self.world)[0], op.name)
