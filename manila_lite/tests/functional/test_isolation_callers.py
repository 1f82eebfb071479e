# SPDX-License-Identifier: Apache-2.0
"""Callers outside a project get the same answers for its resources as for unknown ids, with any role and any header."""

from manila_lite.api import versions
from manila_lite.tests.functional import base, walking

#: Headers with which a client could claim an identity; only a trusted proxy could set them, and there is none here.
_CLAIMS = {'X-Project-Id': 'first', 'X-Tenant-Id': 'first', 'X-User-Id': 'alice', 'X-Roles': 'admin,member', 'X-Is-Admin': '1',
           'X-Is-Admin-Project': 'True', 'X-Identity-Status': 'Confirmed', 'X-Service-Roles': 'service',
           'X-Service-Token': 'alice:first:admin', 'X-Auth-Project-Id': 'first', 'X-Forwarded-User': 'alice',
           'OpenStack-System-Scope': 'all', 'X-Role': 'admin'}


class Claiming(base.Api):
    """A caller that claims to be administrator of the first project."""

    def call(self, method, path, body=None, *, version=None, headers=None):
        return super().call(method, path, body, version=version, headers={**_CLAIMS, **(headers or {})})


class Callers(walking.WalkTest):

    def refused(self, caller, allowed=(403, 404)):
        """Check that each call with an id of the first project is refused as with an unknown id. Return the statuses."""
        before, statuses = self.rows(), set()
        for op in self.ops():
            for name in walking.named(op) if op.name not in walking.FOR_OTHERS else ():
                def ask(ident, op=op, name=name):
                    return self.call(caller, op, versions.MAX, {**self.own, name: ident})
                status = self.assert_as_if_unknown(ask, self.world[name], (op.name, op.action, name))
                self.assertIn(status, allowed, (op.name, op.action, name))
                statuses.add(status)
        self.assertEqual(set(), before - self.rows())
        return statuses

    def test_readers_of_another_project(self):
        self.assertEqual({403, 404}, self.refused(self.caller('second', 'rita', 'reader')))

    def test_managers_of_another_project(self):
        self.assertEqual({403, 404}, self.refused(self.caller('second', 'mona', 'manager,member,reader')))

    def test_a_role_that_means_nothing_here(self):
        self.assertEqual({403}, self.refused(self.caller('second', 'ada', 'administrator,owner')))

    def test_who_claims_to_be_another(self):
        claiming = Claiming(self.service.app, 'bob', 'second', 'member,reader')
        self.assertEqual({403, 404}, self.refused(claiming))
        for op in self.lists():
            status, document = self.call(claiming, op, versions.MAX, self.own)
            self.assertEqual(self.call(self.stranger, op, versions.MAX, self.own), (status, document), op.name)
            self.assert_nothing_of_the_first(document, op.name)
