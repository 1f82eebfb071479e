# SPDX-License-Identifier: Apache-2.0
"""Galera, with writers on all of its nodes at once: the API is on the first and the second, the share manager on the first."""

import collections
import threading
import time

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from manila_lite.db import models
from manila_lite.db.queries import (
    access,
    allocations,
    operation_claims,
    project_turns,
    quotas,
    share_networks,
)
from manila_lite.db.queries import operations as rows
from manila_lite.tests import waiting
from manila_lite.tests.factories import networks
from manila_lite.tests.functional.cloud import servers
from manila_lite.tests.services import galera


class Nodes(servers.ServersTest):
    """A cluster of three, with all parts of the service."""

    SERVERS = galera.Galera

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.databases = [cls.database(node.ports['port']) for node in cls.servers.nodes]

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()
        self.users = [self.api(db, project=self.project) for db in self.databases[:2]]

    def rows(self, table, *where):
        """Return rows as the third node has them, once it has all."""
        with self.databases[2].reader() as conn:
            return conn.execute(sa.select(table).where(*where)).all()

    def test_53_quota_is_exact_with_writers_on_two_nodes(self):
        self.admin.ok('PUT', f'/quota-sets/{self.project}', {'quota_set': {'shares': 7}})

        def create(user):
            return [
                user.call('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})[0]
                for _ in range(6)
            ]

        codes = collections.Counter(
            code
            for mine in self.at_once(*(lambda user=user: create(user) for user in self.users * 2))
            for code in mine
        )
        self.assertEqual({200: 7, 413: 17}, dict(codes))
        self.assertEqual(7, len(self.rows(models.shares, models.shares.c.project_id == self.project)))
        with self.databases[2].reader() as conn:
            self.assertEqual(7, quotas.usages(conn, self.project)['shares'].in_use)
        for share in self.users[1].ok('GET', '/shares')['shares']:
            self.users[0].wait(f'/shares/{share["id"]}', 'share', 'available')
            self.users[1].ok('DELETE', f'/shares/{share["id"]}')
        with self.databases[2].reader() as conn:
            self.assertEqual(0, quotas.usages(conn, self.project)['shares'].in_use)

    def test_53_rule_is_granted_once_by_two_nodes(self):
        share = self.users[0].share()
        body = {'access_type': 'ip', 'access_level': 'rw'}
        for last in range(12):
            codes = self.at_once(
                *(
                    lambda user=user, last=last: user.action(
                        share['id'], 'allow_access', {**body, 'access_to': f'10.0.0.{last}'}
                    )[0]
                    for user in self.users
                )
            )
            self.assertEqual([200, 400], sorted(codes), last)

    def test_53_locks_of_two_nodes_exclude_each_other(self):
        """Each transaction locks, and writes a row of its own. Without ``row_locks``, both commit."""
        share = self.users[0].share()
        network = self.users[0].ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        before = self.rows(models.share_networks, models.share_networks.c.id == network)
        for lock in (
            lambda conn: access.lock(conn, share['id']),
            lambda conn: share_networks.lock(conn, network, ('active',)),
        ):
            both = threading.Barrier(2, timeout=waiting.LIMIT)

            def write(db, lock=lock, both=both):
                try:
                    with db.writer() as conn:
                        lock(conn)
                        conn.execute(
                            models.quota_locks.insert().values(project_id=uuidutils.generate_uuid(), turn=0)
                        )
                        both.wait()
                except db_exception.DBDeadlock:
                    return 'gave way'
                return 'wrote'

            ends = self.at_once(*(lambda db=db: write(db) for db in self.databases[:2]))
            self.assertEqual(['gave way', 'wrote'], sorted(ends))
        self.assertEqual(before, self.rows(models.share_networks, models.share_networks.c.id == network))

    def test_53_address_is_given_once(self):
        with self.databases[0].writer() as conn:
            [(_, subnet, *_, server)] = networks.make(conn, 1, project=self.project)

        def store(db, last):
            row = {
                'id': uuidutils.generate_uuid(),
                'share_server_id': server,
                'share_network_subnet_id': subnet,
                'neutron_subnet_id': self.project,
                'ip_address': f'10.1.0.{last}',
            }
            return db.write(lambda conn: allocations.store(conn, [row]))

        for last in range(20):
            given = self.at_once(*(lambda db=db, last=last: store(db, last) for db in self.databases))
            self.assertEqual(1, sum(given), last)

    def test_53_operation_is_claimed_once(self):
        topic = f'topic-{self.project[:8]}'
        with self.databases[0].writer() as conn:
            for _ in range(60):
                rows.insert(
                    conn, kind='x', resource_type='none', resource_id='none', topic=topic, host='', data={}, lane='work',
                    project_id=self.project,
                )  # fmt: skip
        claims = collections.Counter()

        def work(db):
            owner = uuidutils.generate_uuid()

            def claim(conn):
                seen = project_turns.list_claimable(conn, topic, '', 4, ['work'])
                return [
                    op.id for op in operation_claims.claim_many(conn, [(row, {}) for row in seen], owner, 60)
                ]

            ends = time.monotonic() + waiting.LIMIT
            while claims.total() < 60 and time.monotonic() < ends:
                claims.update(db.write(claim))

        self.at_once(*(lambda db=db: work(db) for db in self.databases))
        self.assertEqual((60, {1}), (len(claims), set(claims.values())))

    def test_53_3_read_on_another_node_sees_what_was_written(self):
        """Without ``wsrep_sync_wait``, dozens of these reads are old."""
        table, key = models.quota_locks, uuidutils.generate_uuid()
        self.databases[0].write(lambda conn: conn.execute(table.insert().values(project_id=key, turn=0)))
        old = []
        for number in range(1, 201):
            self.databases[number % 2].write(lambda conn: quotas.lock(conn, key))
            with self.databases[1 - number % 2].reader() as conn:
                turn = conn.execute(sa.select(table.c.turn).where(table.c.project_id == key)).scalar_one()
            old += [number] if turn != number else []
        self.assertEqual([], old)

    def test_53_lock_that_another_node_breaks_is_repeated_quietly(self):
        """``Database.write`` repeats it; the one who waits notices nothing."""
        table, key = models.quota_locks, uuidutils.generate_uuid()
        self.databases[0].write(lambda conn: conn.execute(table.insert().values(project_id=key, turn=0)))

        def add(db):
            for _ in range(15):
                db.write(lambda conn: quotas.lock(conn, key))

        self.at_once(*(lambda db=db: add(db) for db in self.databases[:2]))
        self.assertEqual([30], [row.turn for row in self.rows(table, table.c.project_id == key)])

    def test_53_node_that_dies_takes_nothing_along(self):
        """Its API answers 503 while it is away. What was accepted is there, and nothing else."""
        node = self.servers.nodes[1]
        user, accepted, refused = self.users[1], [], []

        def create():
            while not (accepted and refused):
                name = uuidutils.generate_uuid()
                status, document, headers = user.call(
                    'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'name': name}}
                )
                if status == 200:
                    accepted.append(document['share']['id'])
                    if len(accepted) == 3:
                        node.abort()
                else:
                    self.assertEqual((503, '1'), (status, headers['Retry-After']), document)
                    refused.append(name)

        create()
        self.servers.wait_size(2)
        for share_id in accepted:
            self.users[0].wait(f'/shares/{share_id}', 'share', 'available')
        node.rejoin()
        self.servers.wait_size(3)
        there = {share['id'] for share in user.ok('GET', '/shares')['shares']}
        self.assertEqual(set(accepted), there)
