# SPDX-License-Identifier: Apache-2.0
"""A project sees nothing of another's, whatever it asks: every call of the contract is made with real foreign ids."""

import json

from manila_lite.api import versions
from manila_lite.api.contract import OPS
from manila_lite.tests.functional import base, world

#: Path parameters that name something of a project. A private type is its own project's, too.
OWNED = {'share_id', 'snapshot_id', 'access_id', 'export_location_id', 'share_instance_id', 'message_id', 'type_id',
         'share_network_id', 'share_network_subnet_id', 'security_service_id', 'share_server_id', 'operation_id'}
TRIED = (versions.MIN, 44, versions.MAX)


def names(op):
    """Return the parameters in the path of a call."""
    return {part.strip('{}') for part in op.path.split('/') if part.startswith('{')}


class Walk(base.ServiceTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.owner = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.world = world.make(cls.service, cls.admin, cls.owner)
        cls.ids = {cls.world[name] for name in OWNED}

    def setUp(self):
        super().setUp()
        self.stranger = self.caller('second', 'bob')

    def ops(self, version):
        return [op for op in OPS if op.lives(version)]

    def call(self, caller, op, version):
        path = op.path_at(version).format_map(self.world)
        return caller.call(op.method, path, world.body(op, version, self.world), version=versions.show(version))

    def may(self, op):
        """Say whether policy lets a member do this to something of the own project."""
        return self.service.context('second', 'bob').can(op.policy)

    def test_by_id(self):
        """What names a resource of the first project is not there, or not for members at all."""
        for version in TRIED:
            for op in self.ops(version):
                if names(op) & OWNED:
                    status, document, _ = self.call(self.stranger, op, version)
                    self.assertEqual(404 if self.may(op) else 403, status, (op.name, versions.show(version), document))

    def test_nothing_was_changed(self):
        """The owner still reads everything (which shows that the ids above were right)."""
        self.test_by_id()
        for op in self.ops(versions.MAX):
            if op.method == 'GET' and names(op) & OWNED and 'type_id' not in names(op) and self.may(op):
                status, document, _ = self.call(self.owner, op, versions.MAX)
                self.assertEqual(200, status, (op.name, document))
        self.assertEqual('available', self.owner.ok('GET', f'/shares/{self.world["share_id"]}')['share']['status'])

    def test_lists(self):
        for version in TRIED:
            for op in self.ops(version):
                if op.method == 'GET' and not names(op) and self.may(op):
                    status, document, _ = self.call(self.stranger, op, version)
                    self.assertIn(status, (200, 400), (op.name, document))    # rules are listed of one share only
                    self.assertEqual(set(), {ident for ident in self.ids if ident in json.dumps(document)}, op.name)

    def test_filters_do_not_widen_a_list(self):
        for op in self.ops(versions.MAX):
            if op.method != 'GET' or names(op) or not self.may(op):
                continue
            for query in ('project_id=first', 'all_tenants=1', 'all_projects=1', 'all_tenants=1&project_id=first',
                          f'share_id={self.world["share_id"]}', f'id={self.world["share_id"]}', 'user_id=alice',
                          f'resource_id={self.world["share_id"]}', 'is_public=None', 'is_public=True'):
                status, document, _ = self.stranger.call('GET', f'{op.path}?{query}')
                self.assertIn(status, (200, 400, 403, 404), (op.name, query, document))
                found = {ident for ident in self.ids if ident in json.dumps(document)} if status == 200 else set()
                self.assertEqual(set(), found, (op.name, query))

    def test_ids_in_bodies(self):
        for path, body in (
                ('/snapshots', {'snapshot': {'share_id': self.world['share_id']}}),
                ('/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'snapshot_id': self.world['snapshot_id']}}),
                ('/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'share_type': self.world['type_id']}})):
            status, document, _ = self.stranger.call('POST', path, body)
            self.assertEqual(404, status, (path, document))

    def test_a_rule_of_another_share_is_not_reached_through_ones_own(self):
        own = self.stranger.share()
        for action, body in (('deny_access', {'access_id': self.world['access_id']}),
                             ('revert', {'snapshot_id': self.world['snapshot_id']})):
            status, document, _ = self.stranger.action(own['id'], action, body)
            self.assertEqual(404, status, (action, document))
        foreign = f'/shares/{own["id"]}/export_locations/{self.world["export_location_id"]}'
        self.assertEqual(404, self.stranger.call('GET', foreign)[0])
        self.assertEqual(404, self.stranger.call('GET', f'{foreign}/metadata')[0])

    def test_subnets_and_security_services_of_another_network(self):
        own = self.stranger.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        subnet = f'/share-networks/{own}/subnets/{self.world["share_network_subnet_id"]}'
        for method, path in (('GET', subnet), ('DELETE', subnet), ('GET', f'{subnet}/metadata')):
            self.assertEqual(404, self.stranger.call(method, path)[0], (method, path))
        for action in ('add_security_service', 'remove_security_service'):
            body = {action: {'security_service_id': self.world['security_service_id']}}
            status, document, _ = self.stranger.call('POST', f'/share-networks/{own}/action', body)
            self.assertEqual(404, status, (action, document))

    def test_quotas_of_another_project(self):
        for op in self.ops(versions.MAX):
            if 'quota_project_id' in names(op):
                status, document, _ = self.call(self.stranger, op, versions.MAX)
                self.assertEqual(403, status, (op.name, document))


class Public(base.ServiceTest):

    def test_seen_but_not_touched(self):
        owner, stranger = self.caller('first'), self.caller('second')
        share = owner.share(metadata={'key': 'value'})
        self.admin.ok('PUT', f'/shares/{share["id"]}', {'share': {'is_public': True}})
        seen = stranger.ok('GET', f'/shares/{share["id"]}')['share']
        self.assertTrue(seen['is_public'])
        self.assertEqual([share['id']], [row['id'] for row in stranger.ok('GET', '/shares?is_public=true')['shares']])
        found = {'share_id': share['id'], 'key': 'key', 'access_id': share['id'], 'snapshot_id': share['id']}
        for op in OPS:
            if op.method != 'GET' and names(op) and names(op) <= {'share_id', 'key'} and op.lives(versions.MAX):
                status, document, _ = stranger.call(op.method, op.path.format_map(found),
                                                    world.body(op, versions.MAX, found))
                self.assertIn(status, (403, 404), (op.name, op.action, document))
        after = owner.ok('GET', f'/shares/{share["id"]}')['share']
        self.assertEqual(('available', 1, {'key': 'value'}), (after['status'], after['size'], after['metadata']))
