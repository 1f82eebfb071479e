# SPDX-License-Identifier: Apache-2.0
"""Steps of the scheduler, one at a time: the pools that they may take, and a new try when these are taken first."""

import dataclasses

from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.db import models
from manila_lite.db.queries import operation_claims
from manila_lite.engine import Work
from manila_lite.scheduler import destinations, migration
from manila_lite.scheduler import service as scheduling
from manila_lite.tests.functional import base, refused
from manila_lite.tests.functional.scheduler import test_pools_kept
from manila_lite.tests.unit.operation_data import stored

_POOLS = {proto: f'test@alpha#{proto.lower()}' for proto in ('NFS', 'CIFS')}
_CAPABILITIES = {
    'driver_handles_share_servers': False,
    'snapshot_support': True,
    'create_share_from_snapshot_support': True,
    'revert_to_snapshot_support': True,
    'mount_snapshot_support': True,
    'replication_type': 'dr',
    'replication_domain': 'd',
}


class Steps(refused.WithBackends):
    """A backend with a pool for each protocol, and one more backend; no share manager and no scheduler run."""

    UP = {'test@alpha': True, 'test@beta': True}
    POOLS = {
        host: (99, {**_CAPABILITIES, 'storage_protocol': proto})
        for proto, host in (*_POOLS.items(), ('NFS_CIFS', 'test@beta#both'))
    }

    def work(self, resource_id):
        """Claim the open operation on a resource; return it as work."""
        table, db = models.operations, self.service.services.db
        with db.writer() as conn:
            found = conn.execute(
                table.select().where(table.c.resource_id == resource_id, table.c.state == 'open')
            ).one()
            op = operation_claims.claim(conn, found, 'me', 30)
        data = next(plan.data for plan in scheduling.PLANS if plan.kind == op.kind)
        return Work(op, data.from_json(op.data), context.admin(self.service.services), self.service.scheduler)

    def others_are_faster(self):
        """Let backends report just before each claim of capacity in a pool, so that the claim fails."""
        table = models.pools
        return self.meanwhile(
            '^UPDATE pools SET (allocated|claimed)_gb',
            table.update().values(generation=table.c.generation + 1),
            every=True,
        )

    def looks_again(self, step, work):
        """Check that the step changes nothing, and asks to be run again in less than a second."""
        with self.others_are_faster():
            later = self.assertRaises(errors.Again, step, work)
        self.assertTrue(0 < later.after < 1, later.after)
        self.assertIsNone(work.send)

    def well_done(self, step, work):
        """Run the step as often as it asks for: the pools that the scheduler remembers may be those of the test before."""

        def done():
            try:
                step(work)
            except errors.Again:
                return False
            return True

        base.eventually(done, 'no pool is taken')

    def new(self, **wanted):
        """Make a share that is to be placed on the first backend; return its id."""
        return self.admin.ok(
            'POST',
            '/shares',
            {'share': {'size': 1, 'scheduler_hints': {'only_host': 'test@alpha'}, **wanted}},
        )['share']['id']

    def growing(self, proto='NFS'):
        share = self.share(host=_POOLS[proto], share_proto=proto)
        self.all_done()
        self.assertEqual(202, self.user.action(share, 'extend', {'new_size': 2})[0])
        return share

    def leaving(self, proto='NFS'):
        """Make a share with an open migration to the first backend; return its id."""
        share = self.share(host='test@beta#both', share_proto=proto)
        self.all_done()
        with self.service.services.db.reader() as conn:
            kind = (
                conn.execute(
                    models.share_instances.select().where(models.share_instances.c.share_id == share)
                )
                .one()
                .share_type_id
            )
        target = self.aside(share, host='test@alpha', status='migrating_to')
        self.insert(
            models.operations,
            kind='share.migrate',
            resource_type='share',
            resource_id=share,
            topic='scheduler',
            lane='work',
            state='open',
            next_run_at=timeutils.utcnow(),
            data={
                **stored.MOVE,
                'types': [kind],
                'network_id': None,
                'size': 1,
                'proto': proto,
                'to': 'test@alpha',
                'target': target,
            },
        )
        return share

    def test_share_is_placed_in_a_pool_that_serves_its_protocol(self):
        for proto, host in _POOLS.items():
            work = self.work(self.new(share_proto=proto))
            self.well_done(scheduling.place, work)
            self.assertEqual(('share', host), work.send)

    def test_replica_is_placed_in_a_pool_that_serves_the_protocol_of_its_share(self):
        place = next(plan.steps[0].do for plan in scheduling.PLANS if plan.kind == 'replica.create')
        name = self.getUniqueString()
        self.type(name, replication_type='dr')
        for proto, host in _POOLS.items():
            share = self.share(host='test@beta#both', share_proto=proto, share_type=name)
            self.all_done()
            work = self.work(
                self.admin.ok(
                    'POST',
                    '/share-replicas',
                    {'share_replica': {'share_id': share, 'availability_zone': 'here'}},
                )['share_replica']['id']
            )
            self.well_done(place, work)
            self.assertEqual(('share', host), work.send)

    def test_share_migrates_to_a_pool_that_serves_its_protocol(self):
        for proto, host in _POOLS.items():
            work = self.work(self.leaving(proto))
            self.well_done(migration.claim, work)
            self.assertEqual((host, ('share', 'test@alpha')), (work.data.claimed[0], work.send))

    def test_destination_is_found_without_an_operation_and_without_a_claim(self):
        work = self.work(self.leaving())
        about = work.data
        scheduler, pools = self.service.scheduler, models.pools

        def claimed():
            with self.service.services.db.reader() as conn:
                return {row.host: row.claimed_gb for row in conn.execute(pools.select())}

        before = claimed()
        with self.service.services.db.reader() as conn:
            found = destinations.find(conn, scheduler, about, None)
            refusal = self.assertRaises(
                errors.NoValidHost,
                destinations.find,
                conn,
                scheduler,
                dataclasses.replace(about, size=100),
                None,
            )
            nowhere = self.assertRaises(
                errors.NoValidHost,
                destinations.find,
                conn,
                scheduler,
                dataclasses.replace(about, to='x@y'),
                None,
            )
        self.assertEqual((_POOLS['NFS'], 'nfs', before), (found.pool.host, found.name, claimed()))
        self.assertIn('CapacityFilter', str(refusal))
        self.assertIn('x@y has not reported any pool', str(nowhere))

    def test_capacity_for_a_migrating_share_counts_as_claimed_at_once(self):
        scheduler = self.service.scheduler
        self.patch(scheduler, 'hosts', test_pools_kept.Lasting(60))

        def claimed():
            with self.service.services.db.reader() as conn:
                return {pool.host: pool.claimed_gb for pool in scheduler.hosts.pools(conn)}[_POOLS['NFS']]

        before = claimed()
        migration.claim(self.work(self.leaving()))
        self.assertEqual((1, before + 1), (scheduler.hosts.looks, claimed()))

    def test_placement_is_retried_when_its_capacity_claim_fails(self):
        share = self.new(share_proto='NFS')
        self.looks_again(scheduling.place, self.work(share))
        self.assertIsNone(self.admin.ok('GET', f'/shares/{share}')['share']['host'])

    def test_extension_is_retried_when_its_capacity_claim_fails(self):
        self.looks_again(scheduling.grow, self.work(self.growing()))

    def test_migration_is_retried_when_its_capacity_claim_fails(self):
        self.looks_again(migration.claim, self.work(self.leaving()))
