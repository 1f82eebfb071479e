# SPDX-License-Identifier: Apache-2.0
"""Default policy, as the table in ``roles.yaml`` has it: each line is tried through the API with each role."""

import json
import pathlib
import re

import yaml
from oslo_policy import _checks

from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.tests import policy_rules
from manila_lite.tests.functional import base, world

TABLE = yaml.load(pathlib.Path(__file__).with_name('roles.yaml').read_text(), yaml.CSafeLoader)
#: The project of a caller, and its roles as Keystone's tokens list them (one implies the next).
PERSONAS = {
    'admin': ('first', 'admin,manager,member,reader'),
    'manager': ('first', 'manager,member,reader'),
    'member': ('first', 'member,reader'),
    'reader': ('first', 'reader'),
    'service': ('service', 'service'),
}
#: Callers that may do nothing: without a role, and with roles that mean nothing here.
NOBODY = {'nobody': ('first', 'none'), 'auditor': ('first', 'auditor,members,administrator,admin_api')}
#: Calls without a resource to read among those of ``world``, and their status.
NOTHING = {
    '/extensions/{alias}': 404,
    '/share-group-types/default': 404,
    '/shares/{share_id}/migration-progress': 400,
}
UNKNOWN = '00000000-0000-4000-8000-000000000000'
_LINE = re.compile(
    r'(?P<method>[A-Z]+) (?P<path>/[^ ?]+)(\?(?P<query>\S+))?( (?P<action>\w+))?( (?P<body>{.*}))?'
)


def label(op):
    """Return the key of a call in the table."""
    return f'{op.method} {op.path} {op.action or ""}'.strip()


def last(op):
    """Return the newest version at which a call exists."""
    return versions.MAX if op.lives(versions.MAX) else versions.minor(op.until)


class Unknown(dict):
    """Ids of resources that do not exist."""

    def __missing__(self, key):
        return UNKNOWN


class Matrix(base.ServiceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world = world.make(
            cls.service, cls.admin, base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        )
        cls.service.stop()
        cls.callers = {
            name: base.Api(cls.service.app, name, project, roles)
            for name, (project, roles) in (PERSONAS | NOBODY).items()
        }

    def test_every_call_has_its_line(self):
        """Check that each call has a line in the table, and each line a call."""
        calls = {label(op): op for op in CALLS}
        missing = [
            f'{line}: {" ".join(self.by_policy(calls[line]))}' for line in sorted(calls.keys() - TABLE.keys())
        ]
        self.assertEqual([], missing, 'lines to add to roles.yaml, if this is right:\n' + '\n'.join(missing))
        more = [line for line in TABLE if line not in calls and '?' not in line and '{"' not in line]
        self.assertEqual([], more, 'no call of the contract')
        self.assertEqual(
            [], sorted({role for roles in TABLE.values() for role in roles.split()} - PERSONAS.keys())
        )

    def by_policy(self, op):
        return [
            name
            for name, (project, roles) in PERSONAS.items()
            if self.service.context(project, name, roles.split(',')).can(op.policy)
        ]

    def test_higher_roles_have_all_rights_of_lower_roles(self):
        """Let administrators do everything, a lower role never more than a higher one, and readers change nothing."""
        for line, roles in TABLE.items():
            found = roles.split()
            self.assertIn('admin', found, line)
            ranks = [role for role in PERSONAS if role != 'service']
            self.assertEqual(
                ranks[: len(set(found) & set(ranks))], [role for role in found if role != 'service'], line
            )
            if not line.startswith('GET ') and not line.endswith(' access_list'):
                self.assertNotIn('reader', found, line)

    def test_each_call_is_allowed_only_to_the_roles_of_its_line(self):
        """Try each call with each role, reads on existing resources, and changes on missing ones to change nothing."""
        for op in CALLS:
            for name, caller in self.callers.items():
                status, document = self.ask(caller, op)
                may = name in TABLE.get(label(op), '').split()
                self.assertEqual(may, status != 403, (name, label(op), document))
                if may and op.method == 'GET':
                    self.assertEqual(NOTHING.get(op.path, 200), status, (name, label(op), document))
                elif not may:
                    self.assertEqual('forbidden', document['forbidden']['reason'], (name, label(op)))

    def test_permissions_are_told_as_the_calls_are_allowed(self):
        """Compare what ``GET /permissions`` tells each role with the lines of the calls that ask the same rules."""
        for name in ('admin', 'manager', 'member', 'reader'):
            told = self.told(name)
            for op in CALLS:
                self.assertEqual(name in TABLE[label(op)].split(), told[op.policy], (name, label(op)))

    def test_permissions_name_no_role_and_follow_the_policy_file(self):
        """Tell nothing of the roles that rules are made of, and what the rules in force say."""
        self.assertEqual([], [rule for rule in self.told('member') if ':' not in rule])
        checks = {'share:create': _checks.FalseCheck(), 'service:index': _checks.RoleCheck('role', 'member')}
        self.useFixture(policy_rules.PolicyRules(self.service.services.enforcer, checks))
        told = self.told('member')
        self.assertEqual((False, True), (told['share:create'], told['service:index']))

    def told(self, name):
        return self.callers[name].ok('GET', '/permissions')['permissions']

    def ask(self, caller, op):
        version = last(op)
        values = self.world if op.method == 'GET' else Unknown(key='key', alias='none', class_name='none')
        path = op.path_at(version).format_map(values)
        if op.path == '/share-access-rules':
            path += f'?share_id={self.world["share_id"]}'
        body = (
            world.body(op, version, Unknown() | self.missing(op))
            if world.parameters(op) or op.action
            else {'nonsense': []}
        )
        body = None if op.method in ('GET', 'DELETE') else body
        return caller.call(
            op.method,
            path,
            body,
            version=versions.show(version),
            headers={versions.EXPERIMENTAL_HEADER: 'true'},
        )[:2]

    def missing(self, op):
        return {
            field.name: UNKNOWN for field in world.body_fields(op, last(op)) if field.name.endswith('_id')
        }

    def test_filters_and_values_need_the_roles_of_their_line(self):
        """Try filters and values that need more rights than the call itself."""
        # One line of the table makes the share public.
        self.addCleanup(
            self.admin.ok, 'PUT', f'/shares/{self.world["share_id"]}', {'share': {'is_public': False}}
        )
        for line, roles in TABLE.items():
            if '?' in line or '{"' in line:
                found = _LINE.fullmatch(line)
                path = found['path'].format_map(self.world) + (f'?{found["query"]}' if found['query'] else '')
                for name, caller in reversed(self.callers.items()):  # allowed callers last: they change rows
                    status, document, _ = caller.call(
                        found['method'], path, json.loads(found['body'] or 'null')
                    )
                    self.assertEqual(name in roles.split(), status < 300, (line, name, status, document))
                    if name not in roles.split():
                        self.assertEqual(403, status, (line, name, document))

    def test_administrator_of_another_project_sees_all_shares(self):
        """Let administrators of any project see all, as in Manila. Lists show their project unless asked for all."""
        other = self.caller('third', 'root', 'admin,member,reader')
        self.assertEqual('first', other.ok('GET', f'/shares/{self.world["share_id"]}')['share']['project_id'])
        self.assertEqual([], other.ok('GET', '/shares')['shares'])
        self.assertNotEqual([], other.ok('GET', '/shares?all_tenants=1')['shares'])

    def test_members_of_another_project_see_nothing(self):
        """Give managers, members and readers no rights in another project."""
        for roles in ('manager,member,reader', 'member', 'reader'):
            other = self.caller('third', 'bob', roles)
            self.assertEqual(404, other.call('GET', f'/shares/{self.world["share_id"]}')[0])
            self.assertEqual([], other.ok('GET', '/shares?all_tenants=1&project_id=first')['shares'])
