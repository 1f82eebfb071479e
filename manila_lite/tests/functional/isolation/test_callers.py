# SPDX-License-Identifier: Apache-2.0
"""Callers outside a project get the same answers for its resources as for unknown ids, with any role and any header."""

from manila_lite.api import versions
from manila_lite.tests.functional import base, queries, walking


class Claiming(base.Api):
    """A caller that claims to be administrator of the first project."""

    def call(self, method, path, body=None, *, version=None, headers=None):
        return super().call(
            method, path, body, version=version, headers={**walking.CLAIMS, **(headers or {})}
        )


class Callers(walking.WalkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        public = cls.owner.share(name='seen-by-all')['id']
        cls.admin.ok('PUT', f'/shares/{public}', {'share': {'is_public': True}})
        cls.reader = base.Api(cls.service.app, 'rita', 'second', 'reader')
        cls.manager = base.Api(cls.service.app, 'mona', 'second', 'manager,member,reader')
        cls.claiming = Claiming(cls.service.app, 'bob', 'second', 'member,reader')

    def test_reader_of_another_project_is_refused(self):
        self.assertEqual({403, 404}, self.refused(self.reader))

    def test_manager_of_another_project_is_refused(self):
        self.assertEqual({403, 404}, self.refused(self.manager))

    def test_unknown_role_is_forbidden(self):
        self.assertEqual({403}, self.refused(self.caller('second', 'ada', 'administrator,owner')))

    def test_headers_claiming_another_identity_are_ignored(self):
        self.assertEqual({403, 404}, self.refused(self.claiming))
        for op in self.lists():
            status, document = self.call(self.claiming, op, versions.MAX, self.own)
            self.assertEqual(
                self.call(self.stranger, op, versions.MAX, self.own), (status, document), op.name
            )
            self.assert_nothing_of_the_first(document, op.name)

    def test_lists_and_filters_return_the_same_as_for_members(self):
        for op in self.lists():
            if op.path == '/permissions':  # it says what this very caller may do
                continue
            for query in ('', *queries.of(op, self.world, self.theirs(op))):
                wanted = self.listed(self.stranger, op, query)
                for caller in (self.reader, self.manager, self.claiming):
                    self.assertEqual(wanted, self.listed(caller, op, query), (op.path, query, caller.token))
