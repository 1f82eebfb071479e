# SPDX-License-Identifier: Apache-2.0
"""Status columns: they change only as ``states.py`` allows, and only one of several concurrent changes wins."""

import threading

import sqlalchemy as sa

from manila_lite import errors, states
from manila_lite.db import models
from manila_lite.db.core import key_values, transitions
from manila_lite.db.queries import share_types
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base


class Transitions(base.ServiceTest):
    """A database without workers."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        with self.service.services.db.writer() as conn:
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            ((self.share, self.instance),) = factory.make(conn, 1, type_id=kind)

    def status(self):
        with self.service.services.db.reader() as conn:
            return conn.execute(
                sa.select(models.share_instances.c.status).where(models.share_instances.c.id == self.instance)
            ).scalar()

    def test_begin_and_fail_set_their_statuses(self):
        with self.service.services.db.writer() as conn:
            transitions.begin(conn, states.SHARE, 'extend', self.instance)
        self.assertEqual('extending', self.status())
        with self.service.services.db.writer() as conn:
            transitions.fail(conn, states.SHARE, 'extend', self.instance)
        self.assertEqual('extending_error', self.status())

    def test_action_begins_only_from_its_allowed_statuses(self):
        with self.service.services.db.writer() as conn:
            transitions.begin(conn, states.SHARE, 'extend', self.instance)
        with self.service.services.db.writer() as conn:
            refused = self.assertRaises(
                errors.WrongState, transitions.begin, conn, states.SHARE, 'shrink', self.instance
            )
        self.assertIn('extending', str(refused))
        self.assertIn('available', str(refused))

    def test_finish_keeps_a_status_set_by_an_administrator(self):
        with self.service.services.db.writer() as conn:
            transitions.begin(conn, states.SHARE, 'extend', self.instance)
            transitions.reset(conn, states.SHARE, self.instance, 'error')
            transitions.finish(conn, states.SHARE, 'extend', self.instance)
        self.assertEqual('error', self.status())

    def test_reset_to_a_status_that_cannot_be_set_is_refused(self):
        with self.service.services.db.writer() as conn:
            self.assertRaises(
                errors.Invalid, transitions.reset, conn, states.SHARE, self.instance, 'reverting'
            )
            self.assertRaises(errors.NotFound, transitions.reset, conn, states.SHARE, 'nobody', 'error')

    def test_only_one_of_eight_concurrent_begins_succeeds(self):
        won, lost = [], []

        def begin():
            try:
                with self.service.services.db.writer() as conn:
                    transitions.begin(conn, states.SHARE, 'extend', self.instance)
                won.append(1)
            except errors.WrongState:
                lost.append(1)

        threads = [threading.Thread(target=begin) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((1, 7), (len(won), len(lost)))

    def test_metadata_pairs_are_merged_replaced_and_removed(self):
        table = models.share_metadata
        with self.service.services.db.writer() as conn:
            key_values.merge(conn, table, self.share, {'a': '1', 'c': '3'})
            self.assertEqual({'a': '1', 'b': 'v', 'c': '3'}, key_values.of(conn, table, self.share))
            key_values.replace(conn, table, self.share, {'d': '4'}, keep=('b',))
            self.assertEqual({'b': 'v', 'd': '4'}, key_values.of(conn, table, self.share))
            key_values.remove(conn, table, self.share, 'd')
            self.assertRaises(errors.NotFound, key_values.remove, conn, table, self.share, 'd')
