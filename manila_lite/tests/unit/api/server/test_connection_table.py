# SPDX-License-Identifier: Apache-2.0

import testtools

from manila_lite.api.server.connection import ConnectionState
from manila_lite.api.server.connection_table import HEAVY, Table


class Conn:
    """A stand-in for a connection, as the table needs it."""

    def __init__(self, fd, origin, state=ConnectionState.IDLE, since=0.0):
        self.fd, self.origin, self.state, self.since = fd, origin, state, since
        self.size = self.held = 0
        self.closed = False

    def close(self, abort=False):
        self.closed = True


class TestTable(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.table = Table()

    def add(self, fd, origin, *more):
        conn = Conn(fd, origin, *more)
        self.table.add(conn)
        return conn

    def test_oldest_idle_connection_of_the_busiest_address_is_dropped_first(self):
        """Idle connections are given up before others, the oldest first, of the address that has most."""
        self.add(1, 'modest')
        busy, first, second = (
            self.add(2, 'greedy', ConnectionState.WORKING),
            self.add(3, 'greedy'),
            self.add(4, 'greedy'),
        )
        slow = self.add(5, 'greedy', ConnectionState.HEAD)
        self.assertEqual([3, 4, 5, 1], [conn.fd for conn in self.table.expendable()])
        self.assertEqual([4, 5, 1], [conn.fd for conn in self.table.expendable(spare=first)])
        self.assertEqual([1], [conn.fd for conn in self.table.expendable(origin='modest')])
        self.assertEqual([5], [conn.fd for conn in self.table.expendable(HEAVY)])
        self.table.move(first, ConnectionState.BODY)
        self.table.move(first, ConnectionState.IDLE)
        self.assertEqual([4, 3, 5, 1], [conn.fd for conn in self.table.expendable()])
        for conn in (busy, second, slow):
            self.table.close(conn)
        self.assertEqual({1, 3}, {conn.fd for conn in self.table.all()})

    def test_late_connections_are_those_older_than_the_given_time(self):
        old = self.add(1, 'a', ConnectionState.HEAD, 5.0)
        self.add(2, 'a', ConnectionState.HEAD, 6.0)
        found = []
        for conn in self.table.late(ConnectionState.HEAD, 5.5):
            found.append(conn)
            self.table.close(conn)
        self.assertEqual([old], found)
        self.assertEqual(1, len(self.table))

    def test_closed_connections_free_their_memory_and_count(self):
        conn, other = self.add(1, 'a'), self.add(2, 'a')
        for size in (10, 30):
            conn.size = size
            self.table.weigh(conn)
            self.assertEqual(size, self.table.held)
        self.assertEqual(2, self.table.count_of('a'))
        for one in (conn, conn, other):
            self.table.close(one)
            self.assertTrue(one.closed)
        self.assertEqual((0, 0, 0), (self.table.held, self.table.count_of('a'), len(self.table)))

    def test_second_close_keeps_a_new_connection_with_the_same_descriptor(self):
        old = self.add(1, 'a')
        self.table.close(old)
        new = self.add(1, 'a')
        self.table.close(old)
        self.assertIs(new, self.table.of(1))
