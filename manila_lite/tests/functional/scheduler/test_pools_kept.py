# SPDX-License-Identifier: Apache-2.0
"""Pools that a scheduler keeps in memory: briefly outdated, but no capacity is promised twice or overlooked."""

import math
import time

import sqlalchemy as sa

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.queries import pool_reports, services
from manila_lite.scheduler import host_states
from manila_lite.scheduler.interface import PlacementRequest
from manila_lite.scheduler.service import Scheduler, choose
from manila_lite.tests.functional import base

BACKEND = 'h@b'
#: Longer than any test: the heartbeats here are sent once.
DOWN_TIME = 3600.0


class Lasting(host_states.Hosts):
    """A cache of pools that is read again only on request, however slow or fast the machine is."""

    looks = 0

    def _refresh(self, conn):
        super()._refresh(conn)
        self.looks += 1
        self._good_until = math.inf

    def pools(self, conn, not_before=-math.inf):
        found = super().pools(conn, not_before)
        self._good_until = math.inf
        return found


class Kept(base.ServiceTest):
    """Two schedulers with pools in memory, and reports that the tests write."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.db = self.service.services.db
        with self.db.writer() as conn:
            conn.execute(models.pools.delete())
            conn.execute(models.services.delete())
            services.heartbeat(conn, BACKEND, 'manila-share', 'nova')
        self.report(a=100, b=100)
        self.mine, self.other = self.scheduler(), self.scheduler()

    def scheduler(self):
        found = Scheduler(self.service.services)
        found.hosts = Lasting(DOWN_TIME)
        with self.db.reader() as conn:
            found.hosts.pools(conn)
        return found

    def report(self, **free):
        """Report exactly these pools of the backend, with so many GiB free."""
        with self.db.writer() as conn:
            pool_reports.store_report(
                conn,
                BACKEND,
                [
                    {
                        'host': f'{BACKEND}#{name}',
                        'total_gb': 100.0,
                        'free_gb': float(gib),
                        'reserved_percentage': 0,
                        'thin_provisioning': False,
                        'max_over_subscription_ratio': 1.0,
                        'capabilities': {'storage_protocol': 'NFS', 'pool_name': name},
                    }
                    for name, gib in free.items()
                ],
                pool_reports.promises_of_pools(conn, BACKEND),
            )

    def kept(self, scheduler, *, look=False):
        """Return the pools that the scheduler knows, by name."""
        with self.db.reader() as conn:
            found = scheduler.hosts.pools(conn, time.monotonic() if look else -math.inf)
        return {pool.host.partition('#')[2]: pool for pool in found}

    def place(self, scheduler, size):
        """Place a share; return the name of its pool."""
        with self.db.writer() as conn:
            return choose(conn, scheduler, PlacementRequest(size)).host.partition('#')[2]

    def claimed(self):
        with self.db.reader() as conn:
            return dict(conn.execute(sa.select(models.pools.c.host, models.pools.c.claimed_gb)).all())

    def test_pools_are_read_again_only_on_request(self):
        self.report(a=50, b=60, c=70)
        self.assertEqual({'a', 'b'}, set(self.kept(self.mine)))
        self.assertEqual(
            {'a': 50, 'b': 60, 'c': 70},
            {name: pool.free_gb for name, pool in self.kept(self.mine, look=True).items()},
        )
        self.assertEqual(2, self.mine.hosts.looks)

    def test_unchanged_pool_stays_the_same_object(self):
        before = self.kept(self.mine)
        with self.db.writer() as conn:
            pool_reports.claim_space(conn, f'{BACKEND}#a', before['a'].generation, 5, 100)
        after = self.kept(self.mine, look=True)
        self.assertIs(before['b'], after['b'])
        self.assertEqual((0, 5), (before['a'].claimed_gb, after['a'].claimed_gb))

    def test_pools_are_kept_for_a_second_at_most(self):
        keeper = host_states.Hosts(DOWN_TIME)
        began = time.monotonic()
        with self.db.reader() as conn:
            keeper.pools(conn)
            self.assertGreater(keeper._good_until, began)
            self.assertLessEqual(keeper._good_until, time.monotonic() + 1.0)

    def test_capacity_is_never_promised_twice(self):
        placed = [self.place(self.mine, 60), self.place(self.other, 60)]
        self.assertEqual(['a', 'b'], sorted(placed))
        for scheduler in (self.mine, self.other):
            self.assertRaises(errors.NoValidHost, self.place, scheduler, 60)
        self.assertEqual({f'{BACKEND}#a': 60, f'{BACKEND}#b': 60}, self.claimed())

    def test_released_capacity_is_used_again(self):
        for _ in range(2):
            self.place(self.other, 100)
        self.kept(self.mine, look=True)
        with self.db.writer() as conn:
            pool_reports.release_space(conn, f'{BACKEND}#b', 100)
        self.assertEqual('b', self.place(self.mine, 100))

    def test_own_claims_are_known_at_once(self):
        first = self.place(self.mine, 30)
        self.assertEqual(30, self.kept(self.mine)[first].claimed_gb)
        self.assertNotEqual(first, self.place(self.mine, 1))  # the other pool has more free capacity now
        self.assertEqual(1, self.mine.hosts.looks)

    def test_a_claim_that_was_rolled_back_is_forgotten(self):
        class Stop(Exception):
            pass

        try:
            with self.db.writer() as conn:
                choose(conn, self.mine, PlacementRequest(100))
                raise Stop
        except Stop:
            pass
        self.assertEqual({'a', 'b'}, {self.place(self.mine, 100), self.place(self.mine, 100)})

    def test_vanished_pool_is_not_chosen(self):
        self.report(a=100)
        self.assertEqual('a', self.place(self.mine, 80))
        self.assertRaises(errors.NoValidHost, self.place, self.mine, 80)
        self.assertEqual({'a'}, set(self.kept(self.mine)))

    def test_pool_that_returned_with_less_capacity_is_not_chosen(self):
        self.report(b=10)
        self.report(a=10, b=10)
        self.assertRaises(errors.NoValidHost, self.place, self.mine, 80)
        self.assertEqual({f'{BACKEND}#a': 0, f'{BACKEND}#b': 0}, self.claimed())

    def test_new_pool_is_chosen(self):
        self.report(a=10, b=10, c=100)
        self.assertEqual('c', self.place(self.mine, 80))

    def test_pools_of_disabled_down_and_deleted_services_are_not_used(self):
        with self.db.writer() as conn:
            services.set_disabled(conn, BACKEND, 'manila-share', True, 'repair')
        self.assertEqual({True}, {pool.disabled for pool in self.kept(self.mine, look=True).values()})
        self.assertRaises(errors.NoValidHost, self.place, self.mine, 1)
        with self.db.writer() as conn:
            services.set_disabled(conn, BACKEND, 'manila-share', False, None)
            services.heartbeat(conn, BACKEND, 'manila-share', 'nova', stopped=True)
        self.assertEqual(
            {(False, False)}, {(pool.up, pool.disabled) for pool in self.kept(self.mine, look=True).values()}
        )
        with self.db.writer() as conn:
            services.heartbeat(conn, BACKEND, 'manila-share', 'nova')
        self.assertIn(self.place(self.mine, 1), {'a', 'b'})
        with self.db.writer() as conn:
            conn.execute(models.services.delete())
        self.assertEqual({}, self.kept(self.mine, look=True))

    def test_single_pool_is_read_from_the_database(self):
        with self.db.reader() as conn:
            self.assertEqual(100, host_states.one(conn, f'{BACKEND}#a', DOWN_TIME).free_gb)
            self.assertIsNone(host_states.one(conn, f'{BACKEND}#z', DOWN_TIME))
