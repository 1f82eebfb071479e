# SPDX-License-Identifier: Apache-2.0
"""Capacity of pools that is promised to shares, as it is counted before a backend is asked for its report."""

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import pool_reports, share_types
from manila_lite.db.queries.pool_reports import Promised
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base

BACKEND = 'h_1@b'
POOL = f'{BACKEND}#a'


class Promises(base.ServiceTest):
    """Shares, pools and operations that are rows only."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.db = self.service.services.db
        with self.db.writer() as conn:
            for table in (models.pools, models.share_instances, models.operations):
                conn.execute(table.delete())
            self.type_id = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id

    def pool(self, host, claimed=0.0, backend=BACKEND):
        with self.db.writer() as conn:
            conn.execute(
                models.pools.insert(),
                {
                    'host': host,
                    'backend_host': backend,
                    'total_gb': 100.0,
                    'free_gb': 100.0,
                    'claimed_gb': claimed,
                    'capabilities': {},
                    'reported_at': timeutils.utcnow(),
                },
            )

    def share(self, size, status='available', host=POOL, target=None):
        """Insert a share of ``size`` GiB; return its id."""
        with self.db.writer() as conn:
            ((share, instance),) = factory.make(conn, 1, type_id=self.type_id, host=host)
            conn.execute(
                models.shares.update()
                .where(models.shares.c.id == share)
                .values(size=size, target_size=target)
            )
            conn.execute(
                models.share_instances.update()
                .where(models.share_instances.c.id == instance)
                .values(status=status)
            )
        return share

    def operation(self, share, kind='share.extend', topic='scheduler', state=rows.OPEN):
        with self.db.writer() as conn:
            rows.insert(
                conn,
                kind=kind,
                resource_type='share',
                resource_id=share,
                topic=topic,
                host='',
                data={},
                lane='work',
                state=state,
            )

    def promised(self):
        with self.db.reader() as conn:
            return pool_reports.promises_of_pools(conn, BACKEND)

    def test_only_claims_of_the_backends_pools_are_counted(self):
        self.pool(POOL, 2.5)
        self.pool('h@c#a', 7, 'h@c')
        self.assertEqual({POOL: Promised(claimed=2.5)}, self.promised())

    def test_only_sizes_of_the_backends_shares_are_counted(self):
        self.pool(POOL, 1.5)
        for size, host in (
            (3, POOL),
            (4, POOL),
            (16, f'{BACKEND}#b'),
            (32, f'{BACKEND}b#a'),
            (64, 'hx1@b#a'),
        ):
            self.share(size, host=host)
        self.assertEqual({POOL: Promised(1.5, 7.0), f'{BACKEND}#b': Promised(0.0, 16.0)}, self.promised())

    def test_new_and_incoming_shares_are_counted_apart(self):
        for size, status in (
            (1, 'available'),
            (2, 'creating'),
            (4, 'migrating_to'),
            (8, 'error'),
            (16, 'deleting'),
        ):
            self.share(size, status)
        self.assertEqual({POOL: Promised(0.0, 25.0, 6.0)}, self.promised())

    def test_growth_is_counted_once_the_scheduler_has_claimed_it(self):
        share = self.share(10, 'extending', target=30)
        self.share(1, 'shrinking', target=0)
        grown = Promised(0.0, 11.0, 20.0)
        for other in ({'kind': 'share.update'}, {'topic': 'share'}, {'state': rows.DONE}):
            self.operation(share, **other)
        self.operation(uuidutils.generate_uuid())
        self.assertEqual({POOL: grown}, self.promised())
        self.operation(share)
        self.assertEqual({POOL: Promised(0.0, 11.0, 0.0)}, self.promised())

    def figures(self):
        """Return the claimed, provisioned and allocated GiB of the pool."""
        with self.db.reader() as conn:
            return tuple(
                conn.execute(
                    sa.select(
                        models.pools.c.claimed_gb, models.pools.c.provisioned_gb, models.pools.c.allocated_gb
                    )
                ).one()
            )

    def test_deleted_share_does_not_reduce_the_claims_of_other_shares(self):
        self.pool(POOL)
        self.share(30, 'deleting')
        self.share(40, 'creating')
        # The backend has 100 GiB free, so it has deleted the first share already.
        self.assertEqual((40, 30, 70), self.report(self.promised()))
        with self.db.writer() as conn:
            pool_reports.subtract_deleted_shares(conn, POOL, [30])
        self.assertEqual((40, 30, 40), self.figures())

    def test_deleted_share_reduces_provisioned_capacity_if_claims_are_smaller(self):
        self.pool(POOL)
        self.share(30, 'deleting')
        self.share(20, 'creating')
        self.report(self.promised())
        with self.db.writer() as conn:
            pool_reports.subtract_deleted_shares(conn, POOL, [30])
        self.assertEqual((20, 0, 20), self.figures())

    def report(self, before):
        """Store a report of the backend; return the claimed, provisioned and allocated GiB of the pool after that."""
        figures = {
            'host': POOL,
            'total_gb': 100.0,
            'free_gb': 100.0,
            'reserved_percentage': 0,
            'thin_provisioning': False,
            'max_over_subscription_ratio': 1.0,
            'capabilities': {},
        }
        with self.db.writer() as conn:
            pool_reports.store_report(conn, BACKEND, [figures], before)
        return self.figures()

    def test_capacity_released_during_a_report_is_subtracted_once(self):
        self.pool(POOL, 30.0)  # of a share that is already there when claims are counted
        self.share(30)
        before = self.promised()
        with self.db.writer() as conn:
            pool_reports.release_space(conn, POOL, 30)
        self.assertEqual((0, 0, 0), self.report(before))

    def test_capacity_claimed_during_a_report_is_kept(self):
        self.pool(POOL, 30.0)
        self.share(30)
        self.share(5, 'creating')
        before = self.promised()
        with self.db.writer() as conn:
            self.assertTrue(pool_reports.claim_space(conn, POOL, 0, 7, 100))
        self.assertEqual((12, 30, 42), self.report(before))

    def test_promises_are_counted_in_one_statement(self):
        """Count in one statement: two may see different moments, and lose what moves from one to the other."""
        self.pool(POOL, 1)
        self.share(2)
        statements = []
        engine = self.db.engine
        sa.event.listen(engine, 'before_cursor_execute', listener := lambda *args: statements.append(args[2]))
        self.addCleanup(sa.event.remove, engine, 'before_cursor_execute', listener)
        with self.db.writer() as conn:
            statements.clear()
            self.assertEqual({POOL: Promised(1.0, 2.0, 0.0)}, pool_reports.promises_of_pools(conn, BACKEND))
        self.assertEqual(
            1, len([text for text in statements if text.lstrip().upper().startswith('SELECT')]), statements
        )
