# SPDX-License-Identifier: Apache-2.0
"""Base of tests of isolation: make all calls of the contract as one project, with the ids of another."""

import contextlib
import json
import pathlib
import re

import fixtures
import sqlalchemy as sa

from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.db import models
from manila_lite.policies import base as rules
from manila_lite.policies import list_rules
from manila_lite.tests.functional import base, world

#: Path parameters that do not identify a project's resource.
COMMON = {'key', 'alias', 'class_name', 'pool_host'}
#: Calls that are meant for other projects: with the key they are allowed, and without it they say so.
FOR_OTHERS = {'share_transfers.accept'}
#: Calls with a project in the path whose answer is the same for each project.
SAME_FOR_ALL = {'quota_sets.defaults'}
UNKNOWN = '00000000-0000-4000-8000-000000000000'
#: A word in every free text of the first project.
MARK = 'whose-first-7f3a'
#: Policy rules for administrators only, unless an operator opens them.
CLOSED = {rule.name for rule in list_rules() if rule.check_str == rules.ADMIN}
#: The rules of CLOSED that are not described as about all projects.
TO_OPEN = sorted(
    rule.name for rule in list_rules() if rule.name in CLOSED and 'of all projects' not in rule.description
)
#: Headers with which a client could claim an identity; only a trusted proxy could set them, and there is none here.
CLAIMS = {
    'X-Project-Id': 'first',
    'X-Project-Name': 'first',
    'X-Tenant-Id': 'first',
    'X-Tenant-Name': 'first',
    'X-Tenant': 'first',
    'X-Auth-Project-Id': 'first',
    'X-User-Id': 'alice',
    'X-User-Name': 'alice',
    'X-User': 'alice',
    'X-Forwarded-User': 'alice',
    'Remote-User': 'alice',
    'X-Roles': 'admin,member',
    'X-Role': 'admin',
    'X-Is-Admin': '1',
    'X-Is-Admin-Project': 'True',
    'X-Identity-Status': 'Confirmed',
    'X-Service-Identity-Status': 'Confirmed',
    'X-Service-Roles': 'service',
    'X-Service-Project-Id': 'first',
    'X-Service-User-Id': 'alice',
    'X-Service-Token': 'alice:first:admin',
    'OpenStack-System-Scope': 'all',
}
_UUID = re.compile(r'[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}')


class _UndoneError(Exception):
    """Raised only to roll back."""


def known(values, name):
    """Return the id that the field of a body or a query has in a world, or None."""
    return values.get(name) or values.get(world.ALSO.get(name, ''))


def named(op):
    """Return the path parameters of a call that identify a project's resource."""
    return set(world.parameters(op)) - COMMON - {'quota_project_id'}


def opened(cls, but=()):
    """Return configuration lines, for a class of tests, that allow members the calls of administrators, ``but`` these rules."""
    state = fixtures.TempDir()
    state.setUp()
    cls.addClassCleanup(state.cleanUp)
    path = pathlib.Path(state.path) / 'policy.yaml'
    path.write_text(''.join(f'"{name}": "{rules.MEMBER}"\n' for name in TO_OPEN if name not in but))
    return f'[oslo_policy]\npolicy_file = {path}\n[DEFAULT]\n'


class WalkTest(base.ServiceTest):
    """Two projects with one of everything each: ``world`` has the ids of the first, ``own`` those of the ``stranger``."""

    @classmethod
    def setUpClass(cls):
        # Usage is measured every five minutes otherwise, perhaps while answers are compared.
        cls.EXTRA = f'share_usage_interval = 0\n{cls.EXTRA}'
        super().setUpClass()
        cls.owner = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.stranger = base.Api(cls.service.app, 'bob', 'second', 'member,reader')
        cls.world = world.make(cls.service, cls.admin, cls.owner, MARK)
        cls.own = world.make(cls.service, cls.admin, cls.stranger, 'whose-second')
        cls.ids = {
            value
            for name, value in cls.world.items()
            if name not in COMMON | {'quota_project_id', 'usage_project_id'}
        }

    def ops(self, version=versions.MAX):
        return [op for op in CALLS if op.lives(version)]

    def may(self, op):
        """Say whether policy allows a member this call on a resource of the own project."""
        return self.service.context('second', 'bob').can(op.policy)

    def lists(self, version=versions.MAX):
        return [
            op for op in self.ops(version) if op.method == 'GET' and not world.parameters(op) and self.may(op)
        ]

    def call(self, caller, op, version, values, body=None):
        body = world.body(op, version, values) if body is None else body
        return self._asked(
            caller, op.method, op.path_at(version).format_map(values), body, version=versions.show(version)
        )

    def listed(self, caller, op, query=''):
        """Return status and document of a list."""
        return self._asked(caller, 'GET', f'{op.path}?{query}')

    @staticmethod
    def _asked(caller, *request, **more):
        status, document, _ = caller.call(
            *request, **more, headers={versions.EXPERIMENTAL_HEADER: 'true', 'Accept': 'application/json'}
        )
        if isinstance(document, dict):
            document.pop('last_event_id', None)  # a position in time: another one in each answer
        return status, document

    def theirs(self, op):
        """Return the rows that the first project sees in a list, in short and in full."""
        full = [other for other in self.lists() if other.path in (op.path, f'{op.path}/detail')]
        found = [self.listed(self.owner, other)[1] for other in full]
        return [
            row
            for document in found
            for rows in document.values()
            if isinstance(rows, list)
            for row in rows
            if isinstance(row, dict)
        ]

    def assert_nothing_of_the_first(self, document, what, but=()):
        text = json.dumps(document)
        self.assertEqual(
            [], [resource_id for resource_id in {*self.ids, MARK} - {*but} if resource_id in text], what
        )

    def told(self, said, foreign):
        """Return an answer as a text in which all ids look the same."""
        return _UUID.sub('ID', json.dumps(said).replace(str(foreign), UNKNOWN))

    def assert_as_if_unknown(self, ask, foreign, what):
        """Check that the id of another project gets the same answer as an unknown id. Return the status of ``ask(id)``."""
        (status, document), (blank, nothing) = ask(foreign), ask(UNKNOWN)
        self.assertEqual((blank, self.told(nothing, foreign)), (status, self.told(document, foreign)), what)
        return status

    def refused(self, caller, allowed=(403, 404)):
        """Check that each call with an id of the first project is refused as with an unknown id. Return the statuses."""
        before, statuses = self.rows(), set()
        for op in self.ops():
            for name in named(op) if op.name not in FOR_OTHERS else ():

                def ask(resource_id, op=op, name=name):
                    return self.call(caller, op, versions.MAX, {**self.own, name: resource_id})

                status = self.assert_as_if_unknown(ask, self.world[name], (op.name, op.action, name))
                self.assertIn(status, allowed, (op.name, op.action, name))
                statuses.add(status)
        self.assertEqual(set(), before - self.rows())
        return statuses

    def everything(self):
        """Return all GET answers that the owner can read, by path; check that each is found, so that the ids are right."""
        found = {}
        for op in self.ops():
            if op.method == 'GET' and set(world.parameters(op)) - COMMON and self.may(op):
                status, document = self.call(self.owner, op, versions.MAX, self.world)
                if (
                    op.policy not in CLOSED
                ):  # the resource lacks the subject of a closed call, such as a migration
                    self.assertEqual(200, status, (op.name, document))
                found[op.path] = document
        return found

    def rows(self):
        """Return, as texts, all rows of the database that mention the first project."""
        with self.service.services.db.reader() as conn:
            texts = {
                f'{table.name} {tuple(row)}'
                for table in models.metadata.tables.values()
                for row in conn.execute(sa.select(table))
            }
        return {
            text for text in texts if MARK in text or any(resource_id in text for resource_id in self.ids)
        }

    @contextlib.contextmanager
    def undone(self):
        """Roll back all writes inside the block, and wake no worker for them."""
        with contextlib.suppress(_UndoneError), self.service.services.db.together():
            yield
            raise _UndoneError
