# SPDX-License-Identifier: Apache-2.0
"""Capacity for a share that grows: claimed once, and kept until the backend has extended the share."""

import contextlib
import dataclasses

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.db import models
from manila_lite.db.queries import operation_claims, pool_reports, services, share_types, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine.executor import Executor
from manila_lite.engine.plans import WORK, Work
from manila_lite.operation_data.shares import ResizeShare
from manila_lite.scheduler import service as scheduling
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base
from manila_lite.tests.functional.refusing import Refusing

BACKEND = 'h@b'
POOL = f'{BACKEND}#a'
OLD, NEW = 1, 70


class Telling:
    """Wrapper of a database that calls ``tell`` after each commit, or of a bus that calls it with each wake-up."""

    def __init__(self, plain, tell):
        self._plain = plain
        self._tell = tell

    def __getattr__(self, name):
        return getattr(self._plain, name)

    @contextlib.contextmanager
    def writer(self):
        with self._plain.writer() as conn:
            yield conn
        self._tell()

    def wake(self, *args):
        self._tell(*args)


class Growth(base.ServiceTest):
    """A pool of 100 GiB with manual reports, a share there that is to grow, and a scheduler that the tests run."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.db = self.service.services.db
        with self.db.writer() as conn:
            for table in (models.pools, models.services, models.share_instances, models.operations):
                conn.execute(table.delete())
            services.heartbeat(conn, BACKEND, 'manila-share', 'nova')
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            ((self.share, self.instance),) = factory.make(conn, 1, type_id=kind, host=POOL)
            conn.execute(
                models.shares.update().where(models.shares.c.id == self.share).values(target_size=NEW)
            )
            conn.execute(models.share_instances.update().values(status='extending'))
            self.operation_id = rows.insert(
                conn,
                kind='share.extend',
                resource_type='share',
                resource_id=self.share,
                project_id='p',
                topic='scheduler',
                host='',
                lane='work',
                data={'size': OLD, 'new_size': NEW},
            )
        self.report()

    def report(self):
        """Write a report of the pool."""
        with self.db.writer() as conn:
            pool_reports.store_report(
                conn,
                BACKEND,
                [
                    {
                        'host': POOL,
                        'total_gb': 100.0,
                        'free_gb': 100.0,
                        'reserved_percentage': 0,
                        'thin_provisioning': False,
                        'max_over_subscription_ratio': 1.0,
                        'capabilities': {},
                    }
                ],
                pool_reports.promises_of_pools(conn, BACKEND),
            )

    def claimed(self):
        with self.db.reader() as conn:
            return conn.execute(sa.select(models.pools.c.claimed_gb)).scalar()

    def row(self):
        with self.db.reader() as conn:
            return rows.get(conn, self.operation_id)

    def run_once(self, **parts):
        """Let the scheduler run the operation once, with these parts of its services replaced."""
        with self.db.writer() as conn:
            conn.execute(models.operations.update().values(next_run_at=timeutils.utcnow()))
            op = operation_claims.claim(conn, rows.get(conn, self.operation_id), 'me', 60)
        found = dataclasses.replace(self.service.services, **parts)
        Executor(found, 'me', {plan.kind: plan for plan in scheduling.PLANS}, self.service.scheduler).run(op)

    def refusing(self, times):
        """Return a database that rolls back the transaction that passes the operation on to the backend."""
        return Refusing(self.db, lambda conn: rows.get(conn, self.operation_id).topic == 'share', times)

    def is_passed_on(self):
        row = self.row()
        self.assertEqual(
            ('share', BACKEND, None, 0, rows.OPEN), (row.topic, row.host, row.owner, row.attempts, row.state)
        )
        self.assertEqual(NEW - OLD, self.claimed())

    def test_capacity_claim_survives_a_backend_report_at_any_moment(self):
        seen = []

        def report():
            self.report()
            seen.append(self.claimed())

        self.run_once(db=Telling(self.db, report))
        self.assertEqual({NEW - OLD}, set(seen))
        self.is_passed_on()

    def test_backend_is_woken_for_the_extension(self):
        woken = []
        self.run_once(bus=Telling(self.service.services.bus, lambda *args: woken.append(args[:3])))
        self.assertEqual([('share', BACKEND, WORK)], woken)

    def test_capacity_is_claimed_once_despite_retries(self):
        self.run_once(db=(db := self.refusing(1)))
        self.assertEqual((0, 0, 'scheduler'), (db.times, self.claimed(), self.row().topic))
        self.run_once(db=db)
        self.is_passed_on()

    def test_no_capacity_is_claimed_after_final_failure(self):
        tries = self.service.conf.operations.max_attempts
        db = self.refusing(tries)
        for _ in range(tries):
            self.run_once(db=db)
        self.assertEqual((rows.FAILED, 'scheduler', 0), (self.row().state, self.row().topic, self.claimed()))
        share = self.admin.ok('GET', f'/shares/{self.share}')['share']
        self.assertEqual(('available', OLD), (share['status'], share['size']))

    def test_worker_without_its_claim_does_not_decide_about_capacity(self):
        with self.db.writer() as conn:
            lost = operation_claims.claim(
                conn, rows.get(conn, self.operation_id), 'slow', -1
            )  # its lease is over already
            operation_claims.claim(conn, rows.get(conn, self.operation_id), 'other', 60)
        for room in (100, OLD):
            with self.db.writer() as conn:
                conn.execute(models.pools.update().values(total_gb=room, free_gb=room))
            work = Work(
                lost,
                ResizeShare.from_json(lost.data),
                context.admin(self.service.services),
                self.service.scheduler,
            )
            self.assertRaises(errors.LostClaim, scheduling.grow, work)
        self.assertEqual(('other', 'scheduler', 0), (self.row().owner, self.row().topic, self.claimed()))

    def test_share_is_unchanged_when_capacity_is_missing(self):
        with self.db.writer() as conn:
            conn.execute(models.pools.update().values(total_gb=OLD, free_gb=OLD))
        self.run_once()
        self.assertEqual((rows.FAILED, 'scheduler', 0), (self.row().state, self.row().topic, self.claimed()))
        with self.db.reader() as conn:
            share = shares.get(conn, self.service.context(), self.share)
        self.assertEqual(('available', OLD, None), (share.status, share.size, share.target_size))
