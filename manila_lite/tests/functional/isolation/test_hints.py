# SPDX-License-Identifier: Apache-2.0
"""Shares that a scheduler hint may name: hints about other projects' shares would reveal where these are."""

import json

from manila_lite.tests.functional import base, walking

HINTS = ('same_host', 'different_host')


class Hints(base.ServiceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        owner = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.stranger = base.Api(cls.service.app, 'bob', 'second', 'member,reader')
        cls.public, cls.private = (owner.share()['id'] for _ in range(2))
        cls.admin.ok('PUT', f'/shares/{cls.public}', {'share': {'is_public': True}})
        cls.own = cls.stranger.share()['id']

    def asked(self, caller, hint, idents):
        return caller.call(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'scheduler_hints': {hint: idents}}}
        )[:2]

    def mine(self):
        return self.stranger.ok('GET', '/shares/detail')['shares']

    def test_hint_about_a_share_of_another_project_is_refused_as_unknown(self):
        before = self.mine()
        for hint in HINTS:
            for beside in ('', f'{self.own},', f' {self.own} , '):
                status, document = self.asked(self.stranger, hint, beside + walking.UNKNOWN)
                self.assertEqual(404, status, document)
                for foreign in (self.private, self.public):
                    told, said = self.asked(self.stranger, hint, beside + foreign)
                    self.assertEqual(
                        (status, json.dumps(document).replace(walking.UNKNOWN, foreign)),
                        (told, json.dumps(said)),
                    )
        self.assertEqual(before, self.mine())

    def test_own_shares_are_accepted_and_administrators_may_name_any(self):
        for caller, named in (
            (self.stranger, self.own),
            (self.admin, f'{self.own},{self.private},{self.public}'),
        ):
            status, document = self.asked(caller, 'same_host', named)
            self.assertEqual(200, status, document)
            made = caller.wait(f'/shares/{document["share"]["id"]}', 'share', 'available')
            self.assertEqual({'__affinity_same_host': named}, made['metadata'])
