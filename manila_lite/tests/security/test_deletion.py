# SPDX-License-Identifier: Apache-2.0
"""Resources with very many parts, from before there were limits, are deleted in a few statements, without recursion."""

import threading

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.tests.functional import base

#: Seconds until all of it is deleted, on a busy machine.


class Deletion(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.user = self.caller()

    def write(self, table, rows):
        with self.service.services.db.writer() as conn:
            conn.execute(table.insert(), rows)

    def count(self, table, *where):
        with self.service.services.db.reader() as conn:
            return conn.execute(sa.select(sa.func.count()).select_from(table).where(*where)).scalar_one()

    def statements(self, call):
        """Return the number of statements of a call, without those of scheduler and manager, which are in other threads."""
        sent, mine = [], threading.get_ident()

        def hear(conn, cursor, statement, *_):
            if threading.get_ident() == mine:
                sent.append(statement)

        engine = self.service.services.db.engine
        sa.event.listen(engine, 'before_cursor_execute', hear)
        try:
            call()
        finally:
            sa.event.remove(engine, 'before_cursor_execute', hear)
        return len(sent)

    def test_deleting_a_share_with_many_keys_and_rules_costs_the_same(self):
        plain, share = (self.user.share()['id'] for _ in range(2))
        table, rules = models.share_metadata, models.access_rules
        self.write(
            table, [{'owner_id': share, 'key': f'{number:07}', 'value': 'v' * 20} for number in range(50_000)]
        )
        now = timeutils.utcnow()
        rule_ids = [uuidutils.generate_uuid() for _ in range(3000)]
        self.write(
            rules,
            [
                {
                    'id': rule_id,
                    'share_id': share,
                    'access_type': 'ip',
                    'access_level': 'rw',
                    'state': 'active',
                    'created_at': now,
                    'access_to': f'10.{number >> 16}.{number >> 8 & 255}.{number & 255}',
                }
                for number, rule_id in enumerate(rule_ids)
            ],
        )
        self.write(
            models.access_rule_metadata,
            [
                {'owner_id': rule_id, 'key': f'{key}', 'value': 'v'}
                for rule_id in rule_ids
                for key in range(5)
            ],
        )
        self.write(
            models.resource_locks,
            [
                {
                    'id': uuidutils.generate_uuid(),
                    'share_id': share,
                    'access_id': rule_id,
                    'project_id': 'p',
                    'user_id': 'u',
                    'resource_action': 'show',
                    'lock_context': 'user',
                }
                for rule_id in rule_ids
            ],
        )
        self.assertEqual(50_000, len(self.user.ok('GET', f'/shares/{share}/metadata')['metadata']))
        few = self.statements(lambda: self.assertEqual(202, self.user.call('DELETE', f'/shares/{plain}')[0]))
        many = self.statements(lambda: self.assertEqual(202, self.user.call('DELETE', f'/shares/{share}')[0]))
        self.assertEqual(few, many)
        for rule_id in (plain, share):
            self.user.wait(f'/shares/{rule_id}', 'share', 'gone')
        self.assertEqual(
            (0, 0, 0),
            (
                self.count(table, table.c.owner_id == share),
                self.count(rules, rules.c.share_id == share),
                self.count(models.resource_locks, models.resource_locks.c.share_id == share),
            ),
        )

    def test_network_with_many_subnets_is_deleted_only_after_its_subnets(self):
        network = self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        table, pairs = models.share_network_subnets, models.share_network_subnet_metadata
        subnet_ids = [uuidutils.generate_uuid() for _ in range(5000)]
        self.write(
            table,
            [
                {'id': subnet_id, 'share_network_id': network, 'created_at': timeutils.utcnow()}
                for subnet_id in subnet_ids
            ],
        )
        self.write(pairs, [{'owner_id': subnet_id, 'key': 'key', 'value': 'v'} for subnet_id in subnet_ids])
        self.assertEqual(
            5001,
            len(self.user.ok('GET', f'/share-networks/{network}')['share_network']['share_network_subnets']),
        )
        status, document, _ = self.user.call('DELETE', f'/share-networks/{network}')
        self.assertEqual(
            (409, 'share_network_has_subnets'), (status, document['conflictingRequest']['reason'])
        )
        self.user.ok('DELETE', f'/share-networks/{network}/subnets/{subnet_ids[0]}')
        with self.service.services.db.writer() as conn:
            conn.execute(
                table.delete().where(table.c.share_network_id == network, table.c.id != subnet_ids[1])
            )
        self.user.ok('DELETE', f'/share-networks/{network}')
        self.assertEqual(0, self.count(pairs))

    def test_snapshot_with_many_rules_and_keys_is_deleted_completely(self):
        share = self.user.share()['id']
        snapshot = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.user.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        table, rules = models.snapshot_metadata, models.snapshot_access_rules
        self.write(
            table, [{'owner_id': snapshot, 'key': f'{number:07}', 'value': 'v'} for number in range(20_000)]
        )
        self.write(
            rules,
            [
                {
                    'id': uuidutils.generate_uuid(),
                    'snapshot_id': snapshot,
                    'access_type': 'ip',
                    'state': 'active',
                    'access_to': f'10.0.{number >> 8}.{number & 255}',
                }
                for number in range(2000)
            ],
        )
        self.user.ok('DELETE', f'/snapshots/{snapshot}')
        self.assertEqual((0, 0), (self.count(table), self.count(rules)))
