# SPDX-License-Identifier: Apache-2.0
"""Hidden resources, and all parts of them: by id, in bodies, in lists and by filters. Those of other projects: isolation."""

import json

from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.tests.functional import queries, walking, world

#: What is hidden with a share, a snapshot and a share network whose deletion is deferred, by parameters of paths.
HIDDEN = {
    'share_id',
    'access_id',
    'export_location_id',
    'share_instance_id',
    'resource_lock_id',
    'share_replica_id',
    'replica_export_location_id',
    'snapshot_id',
    'snapshot_instance_id',
    'snapshot_export_location_id',
    'share_network_id',
    'share_network_subnet_id',
}
#: Lists that name resources which are gone, hidden or not: of work that was done on them, or is to be done.
OF_THE_PAST = {'operations.index', 'messages.index', 'schedules.index'}
#: Parts of a share that a share in the recycle bin still has; and what may be done with it there.
_PARTS = {'share_id', 'access_id', 'export_location_id'}
_OUT = {
    'shares.delete',
    'shares.force_delete',
    'share_bin.restore',
    'shares.reset_task_state',
}  # an administrator's: a share in the bin has no migration whose state it would change


def _named(op):
    return walking.named(op) & HIDDEN if op.name not in walking.FOR_OTHERS else set()


class Hiding(walking.WalkTest):
    """Calls of administrators are open to members, so that policy hides nothing: but not the lists of what is hidden."""

    @classmethod
    def setUpClass(cls):
        policy = walking.opened(
            cls,
            (
                'share:list_shares_in_deferred_deletion_states',
                'share_snapshot:list_snapshots_in_deferred_deletion_states',
            ),
        )
        cls.EXTRA = f'{policy}[quota]\nshares = -1\ngigabytes = -1\n'
        super().setUpClass()

    def hide(self, table, resource_ids, **values):
        with self.service.services.db.writer() as conn:
            conn.execute(table.update().where(table.c.id.in_(resource_ids)).values(**values))

    def rows_without_links(self, caller, op, query):
        """Return status and rows of a list. Links repeat the query."""
        status, document = self.listed(caller, op, query)
        return status, {
            name: value for name, value in (document or {}).items() if not name.endswith('_links')
        }

    def assert_not_listed(self, caller, op, query, ids):
        """Check that a list neither shows nor counts these ids."""
        paged = query.startswith('marker=')  # a count is of all pages
        counting = (
            '' if paged or not any(field.name == 'with_count' for field in op.query) else '&with_count=true'
        )
        status, rows = self.rows_without_links(caller, op, f'{query}{counting}')
        self.assertIn(status, (200, 400, 403, 404), (op.name, query, rows))
        text = json.dumps(rows)
        if status == 200:
            self.assertEqual(
                [], [resource_id for resource_id in ids if resource_id in text], (op.name, query)
            )
            if counting:
                found = sum(len(value) for value in rows.values() if isinstance(value, list))
                self.assertEqual(rows['count'], found, (op.name, query))


class Deferred(Hiding):
    """Resources whose deletion is deferred: gone for their owner, though their rows are there."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seen = world.make(cls.service, cls.admin, cls.owner, 'seen')
        # A subnet may be hidden in a share network that is not.
        zone = cls.owner.ok('GET', '/availability-zones')['availability_zones'][0]['name']
        cls.world['share_network_subnet_id'] = cls.owner.ok(
            'POST',
            f'/share-networks/{cls.seen["share_network_id"]}/subnets',
            {'share-network-subnet': {'availability_zone': zone, 'metadata': {'key': 'value'}}},
        )['share_network_subnet']['id']

    def setUp(self):
        super().setUp()
        self.shown = {op.name: self.theirs(op) for op in self.lists()}
        self.gone = {self.world[name] for name in HIDDEN}
        replica = self.owner.ok('GET', f'/share-replicas/{self.world["share_replica_id"]}')['share_replica']
        share_ids = [self.world['share_id'], replica['share_id']]
        for table, ids in (
            (models.shares, share_ids),
            (models.snapshots, [self.world['snapshot_id']]),
            (models.share_networks, [self.world['share_network_id']]),
            (models.share_network_subnets, [self.world['share_network_subnet_id']]),
        ):
            self.hide(table, ids, deletion_deferred=True)
            self.addCleanup(self.hide, table, ids, deletion_deferred=False)

    def test_parts_are_not_found_by_id(self):
        tried = set()
        for op in self.ops():
            for name in _named(op):

                def ask(resource_id, op=op, name=name):
                    return self.call(self.owner, op, versions.MAX, {**self.seen, name: resource_id})

                status = self.assert_as_if_unknown(ask, self.world[name], (op.name, name))
                self.assertGreaterEqual(status, 400, (op.name, name))
                status, document = self.call(
                    self.owner, op, versions.MAX, {**self.seen, **{name: self.world[name] for name in HIDDEN}}
                )
                self.assertGreaterEqual(status, 400, (op.name, document))
                tried.add(name)
        self.assertEqual(HIDDEN, tried)

    def test_ids_in_bodies_are_refused_like_unknown_ids(self):
        tried = set()
        for op in self.ops():
            for field in world.body_fields(op, versions.MAX):
                hidden = walking.known(self.world, field.name)
                for value in [hidden] if hidden in self.gone else ():

                    def ask(resource_id, op=op, name=field.name):
                        body = world.planted(op, versions.MAX, self.seen, name, resource_id)
                        return self.call(self.owner, op, versions.MAX, self.seen, body)

                    status = self.assert_as_if_unknown(ask, value, (op.name, field.name))
                    self.assertIn(
                        status, (400, 403, 404, 422), (op.name, field.name)
                    )  # 422: the body lacks more
                    tried.add(op.name)
        self.assertGreater(len(tried), 8, tried)

    def test_lists_neither_show_nor_count_parts(self):
        for op in self.lists():
            if op.name not in OF_THE_PAST:
                for query in ('', *queries.of(op, self.world, self.shown[op.name])):
                    self.assert_not_listed(self.owner, op, query, self.gone)

    def test_others_do_not_show_parts(self):
        for op in self.ops():
            if op.method == 'GET' and world.parameters(op):
                text = json.dumps(self.call(self.owner, op, versions.MAX, self.seen))
                self.assertEqual(
                    [], [resource_id for resource_id in self.gone if resource_id in text], op.name
                )

    def test_lists_show_the_parts_otherwise(self):
        """Check that the lists would show the parts, or the other test would check nothing."""
        text = json.dumps(self.shown)
        self.assertEqual(
            set(),
            {name for name in HIDDEN if self.world[name] not in text}
            - {
                'export_location_id',
                'replica_export_location_id',
                'snapshot_export_location_id',
                'access_id',
                'share_network_subnet_id',
            },
        )


class Binned(Hiding):
    """A public share in the recycle bin: its owner sees it with its parts as before, other projects do not."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok('PUT', f'/shares/{cls.world["share_id"]}', {'share': {'is_public': True}})

    def answers(self, caller, values):
        """Return the answers to all reading calls about the share and its parts, by call."""
        return {
            op.name: self.call(caller, op, versions.MAX, values)
            for op in self.ops()
            if op.method == 'GET' and _named(op)
        }

    def binned(self, *, yes=True):
        self.hide(models.shares, [self.world['share_id']], is_soft_deleted=yes)

    def test_owner_sees_the_share_and_its_parts_by_id(self):
        before = self.answers(self.owner, self.world)
        self.binned()
        self.addCleanup(self.binned, yes=False)
        after = self.answers(self.owner, self.world)
        self.assertEqual(
            [False, True], [one['shares.show'][1]['share'].pop('is_soft_deleted') for one in (before, after)]
        )
        self.assertEqual(before, after)

    def test_49_18_nothing_of_it_can_be_changed_but_its_stay_in_the_bin(self):
        """Each call that changes the share or a part of it: metadata of its rules and export locations, too."""
        self.binned()
        self.addCleanup(self.binned, yes=False)
        answers = {
            f'{op.method} {op.path} {op.action}': self.call(self.owner, op, versions.MAX, self.world)
            for op in self.ops()
            if op.method != 'GET' and _PARTS & set(world.parameters(op)) and op.name not in _OUT
        }
        self.assertEqual({}, {name: answer for name, answer in answers.items() if answer[0] < 400})
        metadata = {name: answer for name, answer in answers.items() if 'metadata' in name}
        self.assertEqual({403}, {status for status, _ in metadata.values()}, metadata)
        self.assertEqual(len(metadata), json.dumps(metadata).count('is in the recycle bin'), metadata)
        self.assertEqual(10, len(metadata), metadata)

    def test_other_projects_see_nothing_of_it(self):
        seen = self.answers(self.stranger, {**self.own, 'share_id': self.world['share_id']})
        self.assertEqual(200, seen['shares.show'][0])
        self.binned()
        self.addCleanup(self.binned, yes=False)
        for op in self.ops():
            if 'share_id' in _named(op):

                def ask(resource_id, op=op):
                    return self.call(self.stranger, op, versions.MAX, {**self.own, 'share_id': resource_id})

                self.assert_as_if_unknown(ask, self.world['share_id'], op.name)
        for op in self.lists():
            for query in ('', *queries.of(op, self.world, ()), 'is_soft_deleted=true&is_public=true'):
                self.assert_not_listed(self.stranger, op, query, {self.world['share_id']})
