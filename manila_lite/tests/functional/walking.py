# SPDX-License-Identifier: Apache-2.0
"""How a caller goes through all calls of the contract, with ids of one world or another: what tests of isolation share."""

import contextlib
import json
import pathlib
import re

import fixtures
import sqlalchemy as sa

from manila_lite.api import versions
from manila_lite.api.contract import OPS
from manila_lite.db import models
from manila_lite.policies import base as rules
from manila_lite.policies import list_rules
from manila_lite.tests.functional import base, world

#: Parameters of paths that name nothing of a project.
COMMON = {'key', 'alias', 'class_name'}
#: Calls for other projects than the owner's: who knows the key may make them, and who does not is told that.
FOR_OTHERS = {'share_transfers.accept'}
UNKNOWN = '00000000-0000-4000-8000-000000000000'
#: In every free text of the first project.
MARK = 'whose-first-7f3a'
#: Rules that are for administrators, unless an operator opens them.
CLOSED = {rule.name for rule in list_rules() if rule.check_str == rules.ADMIN}
#: Those of them that do not, by their very words, ask for all projects'.
TO_OPEN = sorted(rule.name for rule in list_rules() if rule.name in CLOSED and 'of all projects' not in rule.description)
_UUID = re.compile(r'[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}')


class _UndoneError(Exception):
    """Only to roll back."""


def known(values, name):
    """Return what the field of a body or a query would name in a world, or nothing."""
    return values.get(name) or values.get(world.ALSO.get(name, ''))


def named(op):
    """Return the parameters of a call's path that name something of a project."""
    return set(world.parameters(op)) - COMMON - {'quota_project_id'}


def opened(cls):
    """Return lines of a configuration, for a class of tests, under which members may do what is for administrators."""
    state = fixtures.TempDir()
    state.setUp()
    cls.addClassCleanup(state.cleanUp)
    path = pathlib.Path(state.path) / 'policy.yaml'
    path.write_text(''.join(f'"{name}": "{rules.MEMBER}"\n' for name in TO_OPEN))
    return f'[oslo_policy]\npolicy_file = {path}\n[DEFAULT]\n'


class WalkTest(base.ServiceTest):
    """Two projects own one of everything each: ``world`` is the first's, ``own`` that of the ``stranger``."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.owner = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.stranger = base.Api(cls.service.app, 'bob', 'second', 'member,reader')
        cls.world = world.make(cls.service, cls.admin, cls.owner, MARK)
        cls.own = world.make(cls.service, cls.admin, cls.stranger, 'whose-second')
        cls.ids = {value for name, value in cls.world.items() if name not in COMMON | {'quota_project_id'}}

    def ops(self, version=versions.MAX):
        return [op for op in OPS if op.lives(version)]

    def may(self, op):
        """Say whether policy lets a member do this to something of the own project."""
        return self.service.context('second', 'bob').can(op.policy)

    def lists(self, version=versions.MAX):
        return [op for op in self.ops(version) if op.method == 'GET' and not world.parameters(op) and self.may(op)]

    def call(self, caller, op, version, values, body=None):
        body = world.body(op, version, values) if body is None else body
        return caller.call(op.method, op.path_at(version).format_map(values), body, version=versions.show(version),
                           headers={versions.EXPERIMENTAL_HEADER: 'true'})[:2]

    def assert_nothing_of_the_first(self, document, what, but=()):
        text = json.dumps(document)
        self.assertEqual([], [ident for ident in {*self.ids, MARK} - {*but} if ident in text], what)

    def told(self, said, foreign):
        """Return an answer as a text in which no id is told from another."""
        return _UUID.sub('ID', json.dumps(said).replace(str(foreign), UNKNOWN))

    def assert_as_if_unknown(self, ask, foreign, what):
        """``ask(id)``: what is another's is answered as what does not exist, word for word. Returns the status."""
        (status, document), (blank, nothing) = ask(foreign), ask(UNKNOWN)
        self.assertEqual((blank, self.told(nothing, foreign)), (status, self.told(document, foreign)), what)
        return status

    def everything(self):
        """Return what the owner can read of the own world by id, which is all there (so the ids are right)."""
        found = {}
        for op in self.ops():
            if op.method == 'GET' and set(world.parameters(op)) - COMMON and self.may(op):
                status, document = self.call(self.owner, op, versions.MAX, self.world)
                if op.policy not in CLOSED:     # they ask for what no such thing has, such as a migration
                    self.assertEqual(200, status, (op.name, document))
                found[op.path] = document
        return found

    def rows(self):
        """Return all rows of the database that name anything of the first project, as texts."""
        with self.service.services.db.reader() as conn:
            texts = {f'{table.name} {tuple(row)}' for table in models.metadata.tables.values()
                     for row in conn.execute(sa.select(table))}
        return {text for text in texts if MARK in text or any(ident in text for ident in self.ids)}

    @contextlib.contextmanager
    def undone(self):
        """Whatever is written within is not, in the end, and nobody is woken for it."""
        with contextlib.suppress(_UndoneError), self.service.services.db.together():
            yield
            raise _UndoneError
