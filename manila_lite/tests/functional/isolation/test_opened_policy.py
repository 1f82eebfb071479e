# SPDX-License-Identifier: Apache-2.0
"""Isolation when a policy file gives members the calls of administrators."""

from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.tests.functional import walking, world

#: Parameters that identify no project's resource: a caller that may delete one may delete each.
_NOBODYS = {'qos_type_id'}


class Opened(walking.WalkTest):
    """All calls for administrators are open to members."""

    @classmethod
    def setUpClass(cls):
        cls.EXTRA = walking.opened(cls)
        super().setUpClass()
        cls.public = cls.owner.share(name='seen-by-all')['id']
        cls.admin.ok('PUT', f'/shares/{cls.public}', {'share': {'is_public': True}})

    def tried(self):
        """Yield each allowed call with each parameter of its path that identifies a project's resource."""
        for op in self.ops():
            for name in (
                walking.named(op) - _NOBODYS if self.may(op) and op.name not in walking.FOR_OTHERS else ()
            ):
                yield op, name

    def test_calls_for_administrators_are_open(self):
        """Check that the calls are open, since the other tests would try nothing otherwise."""
        self.assertEqual(
            [], [op.name for op in self.ops() if op.policy in walking.TO_OPEN and not self.may(op)]
        )
        self.assertGreater(len([name for op, name in self.tried() if op.policy in walking.TO_OPEN]), 40)

    def test_resources_of_another_project_are_not_found(self):
        before = self.everything()
        for op, name in self.tried():

            def ask(resource_id, op=op, name=name):
                return self.call(self.stranger, op, versions.MAX, {**self.own, name: resource_id})

            # 400: the sample body has no spec that could be set, or the call says so of any server that is not migrating.
            refused = (
                (400, 404) if 'type_id' in name or op.name == 'share_server_migration.progress' else (404,)
            )
            self.assertIn(
                self.assert_as_if_unknown(ask, self.world[name], (op.name, name)), refused, (op.name, name)
            )
        self.assertEqual(before, self.everything())

    def test_admin_calls_are_refused_for_a_public_share_of_another_project(self):
        ops = [
            op
            for op, name in self.tried()
            if name == 'share_id' and (op.method != 'GET' or op.policy in walking.CLOSED)
        ]
        self.assertGreater(len([op for op in ops if op.policy in walking.TO_OPEN]), 5)
        for op in ops:
            status, document = self.call(
                self.stranger, op, versions.MAX, {**self.own, 'share_id': self.public}
            )
            self.assertEqual(403, status, (op.name, document))
            self.assertEqual('share_of_another_project', document['forbidden']['reason'], op.name)
        self.assertEqual('available', self.owner.ok('GET', f'/shares/{self.public}')['share']['status'])

    def test_lists_show_no_rows_of_another_project(self):
        for op in self.lists():
            status, document = self.call(self.stranger, op, versions.MAX, self.own)
            self.assertIn(status, (200, 400, 404), (op.name, document))
            self.assert_nothing_of_the_first(
                document, op.name, {self.world[name] for name in _NOBODYS} | {walking.MARK}
            )
            for field in op.query:
                if resource_id := walking.known(self.world, field.name):
                    status, document = self.listed(self.stranger, op, f'{field.name}={resource_id}')
                    rows = {
                        name: value for name, value in (document or {}).items() if not name.endswith('_links')
                    }
                    if status == 200:
                        self.assert_nothing_of_the_first(rows, (op.name, field.name))

    def test_shares_of_another_project_are_not_found_by_their_server(self):
        instances, server = models.share_instances, self.world['share_server_id']
        with self.undone():
            with self.service.services.db.writer() as conn:
                conn.execute(
                    instances.update()
                    .where(instances.c.share_id == self.world['share_id'])
                    .values(share_server_id=server)
                )
            for caller, found in ((self.stranger, []), (self.owner, [self.world['share_id']])):
                rows = caller.ok('GET', f'/shares?share_server_id={server}')['shares']
                self.assertEqual(found, [row['id'] for row in rows])

    def refusal(self, caller, path, body):
        """Return the message by which a caller is refused to manage something."""
        status, document, _ = caller.call('POST', path, body)
        self.assertIn(status, (400, 409), document)
        (fault,) = document.values()
        return fault['message']

    def managed(self, share):
        """Yield, for each managed resource: path and body of a request to manage it again, the field, and the resource type."""
        export = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations'][0][
            'path'
        ]
        yield (
            '/shares/manage',
            {'share': {'service_host': share['host'], 'protocol': 'NFS', 'export_path': export}},
            f'export_path: {export} on test@alpha',
            f'share {share["id"]}',
        )
        snapshot = self.admin.ok('GET', f'/snapshots/{self.world["snapshot_id"]}')['snapshot']
        where = snapshot['provider_location']
        yield (
            '/snapshots/manage',
            {'snapshot': {'share_id': self.own['share_id'], 'provider_location': where}},
            f'provider_location: {where}',
            f'snapshot {snapshot["id"]}',
        )
        network = self.stranger.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        server = self.world['share_server_id']
        yield (
            '/share-servers/manage',
            {'share_server': {'host': 'test@alpha', 'share_network_id': network, 'identifier': server}},
            f'identifier: {server}',
            f'share server {server} on test@alpha',
        )

    def test_refusal_to_manage_hides_the_ids_of_another_project(self):
        theirs, mine = (
            self.admin.ok('GET', f'/shares/{world["share_id"]}')['share'] for world in (self.world, self.own)
        )
        for path, body, field, name in self.managed(theirs):
            self.assertEqual(f'{field} is managed already.', self.refusal(self.stranger, path, body))
            self.assertEqual(f'{field} is managed already, as {name}.', self.refusal(self.admin, path, body))
        path, body, field, name = next(self.managed(mine))
        self.assertEqual(f'{field} is managed already, as {name}.', self.refusal(self.stranger, path, body))

    def test_quotas_of_another_project_are_forbidden(self):
        ops = [op for op in self.ops() if 'quota_project_id' in world.parameters(op)]
        self.assertEqual({'GET', 'PUT', 'DELETE'}, {op.method for op in ops})
        for op in ops:
            body = {'quota_set': {'shares': 7}} if op.method == 'PUT' else None
            for project, allowed in (('first', op.name in walking.SAME_FOR_ALL), ('second', True)):
                status, document = self.call(
                    self.stranger, op, versions.MAX, {'quota_project_id': project}, body
                )
                self.assertEqual(allowed, status != 403, (op.name, project, document))
