# SPDX-License-Identifier: Apache-2.0
"""Transactions that need the same rows at once: the order of their locks, and the repetition of one that gave way."""

import concurrent.futures
import io
import logging
import threading
import unittest

import sqlalchemy as sa
from oslo_db import exception as oslo_db_exception
from oslo_utils import uuidutils

from manila_lite.cmd import log_expected
from manila_lite.db import models
from manila_lite.db.queries import share_networks
from manila_lite.tests import waiting
from manila_lite.tests.functional import served
from manila_lite.tests.services import places

#: The number of transactions that wait for a lock.
_WAITING = {
    'mysql': "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
    'postgresql': 'SELECT COUNT(*) FROM pg_stat_activity '
    "WHERE wait_event_type = 'Lock' AND datname = CURRENT_DATABASE()",
}


class Deadlocks(served.ServedTest):
    """Two backends, each with a share server in the same network."""

    BACKENDS = {
        name: f'{served.ServedTest.BACKENDS["alpha"]}share_backend_name = {name}\n'
        for name in ('alpha', 'beta')
    }

    @classmethod
    def setUpClass(cls):
        if places.backend() == 'sqlite':
            raise unittest.SkipTest('only PostgreSQL has several writers, and MariaDB')
        super().setUpClass()
        for name in cls.BACKENDS:
            cls.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {'driver_handles_share_servers': 'True', 'share_backend_name': name},
                    }
                },
            )

    def setUp(self):
        super().setUp()
        self.engine = self.service.services.db.engine
        self.network_id = self.network()
        for name in self.BACKENDS:
            share = self.user.share(share_type=name, share_network_id=self.network_id)
            self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.log = io.StringIO()
        handler = logging.StreamHandler(self.log)
        handler.setLevel(logging.INFO)
        handler.setFormatter(logging.Formatter('%(levelname)s %(message)s'))
        handler.addFilter(log_expected.ExpectedFilter())
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)
        self.deadlocks, self.opposes = [], False
        self.listen('handle_error', self.failed)

    def listen(self, what, call):
        sa.event.listen(self.engine, what, call)
        self.addCleanup(sa.event.remove, self.engine, what, call)

    def failed(self, seen):
        if isinstance(seen.chained_exception, oslo_db_exception.DBDeadlock):
            self.deadlocks.append(f'{seen.chained_exception}')

    def are_waiting(self):
        """Say whether a transaction waits for a lock of another."""
        with self.engine.connect() as conn:
            return conn.execute(sa.text(_WAITING[self.engine.dialect.name])).scalar()

    def delete_subnet(self):
        """Delete the only subnet, and with it the two servers, which are not used any more; wait until all are gone."""
        [subnet] = self.shown(self.network_id)['share_network_subnets']
        self.user.ok('DELETE', f'/share-networks/{self.network_id}/subnets/{subnet["id"]}', wait=False)
        waiting.until(lambda: not self.rows(models.share_servers), 'the servers are there')
        return subnet['id']

    def complaints(self):
        """Return the lines of the log that an operator would have to look at."""
        return ''.join(
            line for line in self.log.getvalue().splitlines(keepends=True) if not line.startswith('INFO ')
        )

    def rows(self, table, column='share_network_id'):
        with self.service.services.db.reader() as conn:
            return conn.execute(sa.select(table).where(table.c[column] == self.network_id)).all()

    def test_49_8_two_servers_that_end_at_once_take_their_locks_in_one_order(self):
        """Each end waits, with its server deleted, until the other is as far, or waits for a lock."""
        there = set()

        def met(conn, cursor, text, *more):
            if text.startswith(('DELETE FROM share_servers', 'DELETE FROM `share_servers')):
                there.add(threading.get_ident())
                waiting.until(lambda: len(there) > 1 or self.are_waiting(), 'the other server is not deleted')

        self.listen('after_cursor_execute', met)
        self.delete_subnet()
        self.assertEqual(
            ([], '', []), (self.deadlocks, self.complaints(), self.rows(models.share_network_subnets))
        )
        self.user.ok('DELETE', f'/share-networks/{self.network_id}')

    def test_49_8_an_end_that_the_database_takes_back_is_repeated(self):
        """Another transaction has the subnet, and waits for the network, which the end of a server has. Then that asks for the
        subnet.
        """
        held, told = threading.Event(), threading.Event()

        def wait(conn, cursor, text, *more):
            if 'DELETE' in text and 'share_servers' in text and not told.is_set():
                held.set()
                waiting.until(told.is_set, 'nobody waits for the network')

        self.listen('before_cursor_execute', wait)
        subnet_id = self.shown(self.network_id)['share_network_subnets'][0]['id']
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            deletion = pool.submit(self.delete_subnet)
            waiting.until(held.is_set, 'no server is deleted')
            opposition = pool.submit(self.oppose, subnet_id)
            waiting.until(lambda: self.opposes and self.are_waiting(), 'nobody waits for the network')
            told.set()
            for one in (opposition, deletion):
                one.result(waiting.LIMIT)
        self.assertEqual('', self.complaints())
        self.assertTrue(self.deadlocks, 'nobody gave way')  # one, or the end of the other server, too
        self.assertIn('INFO A transaction was taken back', self.log.getvalue())
        self.assertEqual([], self.rows(models.share_network_subnets))

    def oppose(self, subnet_id):
        """Take the subnet, and then the network. MariaDB lets the heavier transaction have its way, and PostgreSQL the one that
        does not ask whether there is a deadlock.
        """
        heavy = [
            {'id': uuidutils.generate_uuid(), 'project_id': self.network_id, 'status': 'active'}
            for _ in range(200)
        ]
        with self.service.services.db.writer() as conn:
            if conn.dialect.name == 'postgresql':
                conn.execute(sa.text("SET LOCAL deadlock_timeout = '10min'"))
            conn.execute(models.share_networks.insert(), heavy)
            conn.execute(
                models.share_network_subnets.update()
                .where(models.share_network_subnets.c.id == subnet_id)
                .values(mtu=1400)
            )
            self.opposes = True
            share_networks.lock(conn, self.network_id, ('active',))
