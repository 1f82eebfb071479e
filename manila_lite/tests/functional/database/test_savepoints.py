# SPDX-License-Identifier: Apache-2.0
"""Savepoints, and the deadlocks that end more than they."""

import threading

from oslo_db import exception as oslo_db_exception

from manila_lite.db import models
from manila_lite.db.core.savepoints import savepoint
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.services import places


class Savepoints(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.shares = [self.admin.share()['id'] for _ in range(2)]
        self.before = self.names()

    def rename(self, conn, share_id, name):
        conn.execute(models.shares.update().where(models.shares.c.id == share_id).values(name=name))

    def names(self):
        return [self.admin.ok('GET', f'/shares/{share_id}')['share']['name'] for share_id in self.shares]

    def test_failed_part_is_taken_back_alone(self):
        with self.service.services.db.writer() as conn:
            self.rename(conn, self.shares[0], 'kept')
            with self.assertRaises(ZeroDivisionError), savepoint(conn):
                self.rename(conn, self.shares[1], 'gone')
                raise ZeroDivisionError
        self.assertEqual(['kept', self.before[1]], self.names())

    def test_deadlock_in_a_part_is_said_as_such(self):
        """Two transactions take two rows in different order; the one that is ended may be tried again."""
        if places.backend() == 'sqlite':
            self.skipTest('only PostgreSQL has several writers, and MariaDB')
        both, ended = threading.Barrier(2, timeout=waiting.LIMIT), []

        def take(first, second):
            try:
                with self.service.services.db.writer() as conn:
                    self.rename(conn, first, 'one')
                    both.wait()
                    with savepoint(conn):
                        self.rename(conn, second, 'two')
                ended.append(None)
            except Exception as error:
                ended.append(error)

        threads = [threading.Thread(target=take, args=shares) for shares in (self.shares, self.shares[::-1])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({type(None), oslo_db_exception.DBDeadlock}, {type(error) for error in ended}, ended)
        self.assertEqual({'one', 'two'}, set(self.names()))
