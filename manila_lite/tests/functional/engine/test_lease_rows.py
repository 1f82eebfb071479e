# SPDX-License-Identifier: Apache-2.0
"""Backend leases as rows: each statement changes the service that it names, and no other of its host or kind."""

import datetime

from oslo_utils import fixture as clock
from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import backend_leases, services
from manila_lite.tests.functional import base
from manila_lite.tests.functional.touching import Touching

HOST, BINARY = 'h@b', 'manila-share'
MINE = (HOST, BINARY)
NEIGHBOURS = {'other host': ('h@c', BINARY), 'other binary': (HOST, 'manila-data')}


class Leases(base.ServiceTest):
    """A service, one on another host, and one of another kind on the same host; the clock stands still."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.time = self.useFixture(clock.TimeFixture(timeutils.utcnow()))
        db = self.service.services.db
        self.table = Touching(db, models.services)
        self.do, self.by = self.table.do, self.table.by
        self.do(lambda conn: conn.execute(models.services.delete()))
        for name, place in {'mine': MINE, **NEIGHBOURS}.items():
            self.do(services.heartbeat, *place, 'nova')
            self.table.names[name] = self.do(services.get, *place).id

    def told_by(self, call, *args):
        return self.table.told_by(call, *MINE, *args)

    def all_are(self, owner, seconds=30):
        """Give ``owner`` the leases of all services."""
        for place in (MINE, *NEIGHBOURS.values()):
            self.do(backend_leases.release, *place, self.do(backend_leases.get_holder, *place)[0])
            self.assertTrue(self.do(backend_leases.take, *place, owner, seconds))

    def test_taking_a_lease_sets_its_holder_only_for_that_service(self):
        self.assertEqual(({'mine'}, True), self.told_by(backend_leases.take, 'me', 30))
        self.assertEqual(('me', 30.0), self.do(backend_leases.get_holder, *MINE))
        for place in NEIGHBOURS.values():
            self.assertEqual((None, 0.0), self.do(backend_leases.get_holder, *place))

    def test_free_lease_is_taken_even_if_a_dead_owner_is_named(self):
        self.assertEqual(({'mine'}, True), self.told_by(backend_leases.take, 'me', 30, 'dead'))

    def test_lease_of_another_owner_is_not_taken(self):
        self.all_are('other')
        self.assertEqual((set(), False), self.told_by(backend_leases.take, 'me', 30))
        self.assertEqual((set(), False), self.told_by(backend_leases.take, 'me', 30, 'dead'))

    def test_expired_lease_is_taken(self):
        self.all_are('other')
        self.time.advance_time_delta(datetime.timedelta(seconds=30))
        self.assertEqual((set(), False), self.told_by(backend_leases.take, 'me', 30))
        self.time.advance_time_delta(datetime.timedelta(microseconds=1))
        self.assertEqual(({'mine'}, True), self.told_by(backend_leases.take, 'me', 30))

    def test_lease_of_a_dead_owner_is_taken(self):
        self.all_are('dead')
        self.assertEqual(({'mine'}, True), self.told_by(backend_leases.take, 'me', 30, 'dead'))

    def test_only_the_owner_can_renew_a_lease(self):
        self.all_are('me')
        self.assertEqual((set(), False), self.told_by(backend_leases.renew, 'other', 60))
        self.assertEqual(({'mine'}, True), self.told_by(backend_leases.renew, 'me', 60))
        self.assertEqual(('me', 60.0), self.do(backend_leases.get_holder, *MINE))

    def test_owner_can_lock_an_expired_lease(self):
        self.all_are('other')
        self.do(backend_leases.release, *MINE, 'other')
        self.assertEqual((set(), False), self.told_by(backend_leases.lock_if_owned, 'me'))
        self.do(backend_leases.take, *MINE, 'me', 30)
        self.time.advance_time_delta(datetime.timedelta(seconds=31))
        self.assertEqual((set(), True), self.told_by(backend_leases.lock_if_owned, 'me'))
        self.assertEqual((set(), False), self.told_by(backend_leases.lock_if_owned, 'other'))

    def test_only_the_owner_can_release_a_lease(self):
        self.all_are('me')
        self.assertEqual((set(), None), self.told_by(backend_leases.release, 'other'))
        self.assertEqual(({'mine'}, None), self.told_by(backend_leases.release, 'me'))
        self.assertEqual((None, 0.0), self.do(backend_leases.get_holder, *MINE))

    def test_holder_is_returned_for_the_named_service(self):
        for number, place in enumerate((*NEIGHBOURS.values(), MINE)):
            self.do(backend_leases.take, *place, f'owner {number}', 10 + number)
        self.assertEqual(('owner 2', 12.0), self.do(backend_leases.get_holder, *MINE))
        self.assertEqual((None, 0.0), self.do(backend_leases.get_holder, 'h@d', BINARY))
