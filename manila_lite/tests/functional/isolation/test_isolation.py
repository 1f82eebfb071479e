# SPDX-License-Identifier: Apache-2.0
"""Isolation: a project sees nothing of another project's resources, by any request.

Two projects own one of everything each. Every call of the contract is tried with each id, field and filter that can
name a resource; there is no list of calls here.
"""

import json

from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.tests.functional import base, queries, walking, world
from manila_lite.tests.functional.walking import COMMON, FOR_OTHERS, SAME_FOR_ALL, known

#: Ids in bodies and queries of no resource here: of Keystone, Neutron, a request, an event, or kinds without a service.
ELSEWHERE = {
    'tenant_id',
    'user_id',
    'project_id',
    'neutron_net_id',
    'neutron_subnet_id',
    'nova_net_id',
    'segmentation_id',
    'request_id',
    'action_id',
    'detail_id',
    'last_event_id',
    'source_share_group_snapshot_member_id',
    'consistency_group_id',
    'source_project_id',
    'destination_project_id',
}
#: Answers of calls without an id that return no list: there is no default type.
SAID = {'share_group_types.default': (404,)}
TRIED = (versions.MIN, 44, versions.MAX)


class Walk(walking.WalkTest):
    def test_every_parameter_has_a_value_in_both_projects(self):
        """Check that every parameter has a value in both worlds; a new resource type needs a row in world.make."""
        for op in CALLS:
            for name in set(world.parameters(op)) - COMMON:
                self.assertIn(name, self.world, f'{op.method} {op.path}: nothing to try it with')
                self.assertNotEqual(self.world[name], self.own[name], name)
            sent = [*op.query, *(op.body.fields if op.body else ())]
            for name in {field.name for field in sent if field.name.endswith('_id')} - ELSEWHERE:
                self.assertTrue(
                    known(self.world, name), f'{name} of {op.method} {op.path}: nothing to try it with'
                )

    def test_resources_of_another_project_are_not_found_by_id(self):
        """Check that resources of the first project are not found by the stranger, or the call is forbidden."""
        before = self.everything()
        for version in TRIED:
            for op in self.ops(version):
                if 'quota_project_id' in world.parameters(op):
                    expected = 200 if op.name in SAME_FOR_ALL else 403
                    self.assertEqual(
                        expected, self.call(self.stranger, op, version, self.world)[0], (op.name, version)
                    )
                elif set(world.parameters(op)) - COMMON:
                    status, document = self.call(self.stranger, op, version, self.world)
                    refused = 400 if op.name in FOR_OTHERS else 404
                    self.assertEqual(
                        refused if self.may(op) else 403, status, (op.name, versions.show(version), document)
                    )
        self.assertEqual(before, self.everything())

    def test_one_foreign_id_in_a_path_is_not_found(self):
        """Check each parameter of each path with an id of the first project, the others being the caller's own."""
        for op in self.ops():
            for name in walking.named(op) if self.may(op) and op.name not in FOR_OTHERS else ():
                status = self.assert_as_if_unknown(
                    lambda resource_id, op=op, name=name: self.call(
                        self.stranger, op, versions.MAX, {**self.own, name: resource_id}
                    ),
                    self.world[name],
                    (op.name, name),
                )
                self.assertEqual(404, status, (op.name, name))

    def test_foreign_ids_in_bodies_are_refused_like_unknown_ids(self):
        before, tried = self.everything(), 0
        for op in self.ops():
            for field in world.body_fields(op, versions.MAX) if self.may(op) else ():
                foreign = known(self.world, field.name)
                for value in [foreign] if foreign and field.name not in COMMON else ():

                    def ask(resource_id, op=op, name=field.name):
                        body = world.planted(op, versions.MAX, self.own, name, resource_id)
                        return self.call(self.stranger, op, versions.MAX, self.own, body)

                    status = self.assert_as_if_unknown(ask, value, (op.name, field.name))
                    self.assertIn(status, (400, 403, 404), (op.name, field.name))
                    tried += 1
        self.assertGreater(tried, 5)
        self.assertEqual(before, self.everything())

    def test_lists_show_no_rows_of_another_project(self):
        for version in TRIED:
            for op in self.lists(version):
                status, document = self.call(self.stranger, op, version, self.own)
                self.assertIn(
                    status, SAID.get(op.name, (200, 400)), (op.name, document)
                )  # rules need a share
                self.assert_nothing_of_the_first(document, op.name)

    def test_filters_do_not_widen_a_list(self):
        """Check every filter of every list with values of the first project: its rows are neither shown nor counted."""
        for op in self.lists():
            for query in queries.of(op, self.world, self.theirs(op)):
                self.filtered(op, query)

    def filtered(self, op, query):
        paged = query.startswith('marker=')  # a count is of all pages
        counting = (
            '&with_count=true' if not paged and any(field.name == 'with_count' for field in op.query) else ''
        )
        status, document = self.listed(self.stranger, op, f'{query}{counting}')
        self.assertIn(status, (200, 400, 403, 404), (op.name, query, document))
        self.assertNotIn('no_such_path', str(document), op.name)
        if status == 200:
            rows = {
                name: value for name, value in document.items() if not name.endswith('_links')
            }  # links repeat the query
            self.assert_nothing_of_the_first(rows, (op.name, query))
            if counting:
                found = sum(len(value) for value in rows.values() if isinstance(value, list))
                self.assertEqual(document['count'], found, (op.name, query))

    def test_usage_does_not_change_with_another_projects_resources(self):
        """Check that limits and quota usage of a project do not change with resources of another."""

        def used():
            return [self.stranger.ok('GET', path) for path in ('/limits', '/quota-sets/second/detail')]

        before = used()
        self.owner.ok('DELETE', f'/shares/{self.owner.share()["id"]}')
        self.assertEqual(before, used())


class Public(base.ServiceTest):
    def test_public_share_is_visible_but_unchangeable_for_other_projects(self):
        owner, stranger = self.caller('first'), self.caller('second')
        share = owner.share(metadata={'key': 'value'})
        self.admin.ok('PUT', f'/shares/{share["id"]}', {'share': {'is_public': True}})
        seen = stranger.ok('GET', f'/shares/{share["id"]}')['share']
        self.assertTrue(seen['is_public'])
        self.assertEqual(
            [share['id']], [row['id'] for row in stranger.ok('GET', '/shares?is_public=true')['shares']]
        )
        for off in ('', '?is_public=false', '?is_public=0'):
            self.assertEqual([], stranger.ok('GET', f'/shares{off}')['shares'], off)
        self.assertEqual(400, stranger.call('GET', '/shares?is_public=perhaps')[0])
        found = {'share_id': share['id'], 'key': 'key', 'access_id': share['id'], 'snapshot_id': share['id']}
        for op in CALLS:
            names = set(world.parameters(op))
            if op.method != 'GET' and names and names <= {'share_id', 'key'} and op.lives(versions.MAX):
                for caller in (
                    stranger,
                    self.caller('second', roles='reader'),
                    self.caller('second', roles='manager,member'),
                ):
                    status, document, _ = caller.call(
                        op.method, op.path.format_map(found), world.body(op, versions.MAX, found)
                    )
                    self.assertEqual(403, status, (op.name, op.action, document))
        after = owner.ok('GET', f'/shares/{share["id"]}')['share']
        self.assertEqual(
            ('available', 1, {'key': 'value'}), (after['status'], after['size'], after['metadata'])
        )


class Redacted(base.ServiceTest):
    """A rule with locked visibility: no call shows its target or its key to other users of the same project."""

    TO = 'whom-nobody-knows-51c2'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.owner = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.world = world.make(cls.service, cls.admin, cls.owner, 'free')
        _, document, _ = cls.owner.action(
            cls.world['share_id'],
            'allow_access',
            {'access_type': 'cephx', 'access_to': cls.TO, 'lock_visibility': True, 'lock_deletion': True},
        )
        rule = document['access']
        cls.world['access_id'] = rule['id']
        cls.key = cls.owner.wait(f'/share-access-rules/{rule["id"]}', 'access', 'active', field='state')[
            'access_key'
        ]

    def found(self, caller):
        """Return the calls whose answers to a caller show the hidden values; all filters are tried."""
        calls = set()
        for op in CALLS:
            version = versions.MAX if op.lives(versions.MAX) else versions.minor(op.until)
            for query in (
                self.queries(op) if op.method == 'GET' else [''] if op.action == 'access_list' else ()
            ):
                path = op.path_at(version).format_map(self.world) + query
                body = world.body(op, version, self.world)
                document = caller.call(op.method, path, body, version=versions.show(version))[1] or {}
                text = json.dumps(
                    {name: value for name, value in document.items() if not name.endswith('_links')}
                )
                if self.TO in text or self.key in text:
                    calls.add(op.name)
        return calls

    def queries(self, op):
        share = f'?share_id={self.world["share_id"]}' if op.path == '/share-access-rules' else '?'
        return [
            share,
            *(
                f'{share}&{field.name}={value}'
                for field in op.query
                for value in (self.TO, self.key)
                if 'access' in field.name
            ),
        ]

    def test_locked_rule_is_shown_only_to_its_owner_admins_and_services(self):
        shown = {'access.index', 'access.show', 'access.list_of_share'}
        self.assertTrue(self.key)
        self.assertEqual(shown, self.found(self.owner))
        self.assertEqual(shown, self.found(self.admin))
        self.assertEqual(
            shown - {'access.list_of_share'}, self.found(self.caller('service', 'nova', 'service'))
        )
        for roles in ('manager,member,reader', 'member', 'reader'):
            self.assertEqual(set(), self.found(self.caller('first', 'carol', roles)), roles)

    def test_hidden_values_are_not_found_by_filters(self):
        """Check that a rule is not found by its hidden fields, and is found by the others."""
        carol = self.caller('first', 'carol')
        path = f'/share-access-rules?share_id={self.world["share_id"]}'
        for query, found in (
            (f'access_to={self.TO}', 0),
            (f'access_key={self.key}', 0),
            ('access_type=cephx', 1),
        ):
            rows = carol.ok('GET', f'{path}&{query}')['access_list']
            self.assertEqual(found, len(rows), query)
            for row in rows:
                self.assertEqual(('******', '******'), (row['access_to'], row['access_key']))
