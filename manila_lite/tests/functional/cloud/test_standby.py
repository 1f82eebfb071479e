# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL with a standby that is promoted, and connections that break while they commit."""

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite.db import models
from manila_lite.tests import waiting
from manila_lite.tests.functional.cloud import servers
from manila_lite.tests.services import standby


class Pair(servers.ServersTest):
    """A primary and its standby, in one URL."""

    SERVERS = standby.Pair

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()
        self.user = self.caller(self.project)

    def create(self, **headers):
        """Create a share; return status, document and headers."""
        return self.user.call(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}}, headers=headers
        )

    def shares(self):
        """Return the ids of the project's shares."""
        with self.service.services.db.reader() as conn:
            found = sa.select(models.shares.c.id).where(models.shares.c.project_id == self.project)
            return set(conn.execute(found).scalars())

    def break_one_commit(self):
        """Let the next commit succeed, and its connection break before anybody hears of it."""
        engine = self.service.services.db.engine

        def committed(conn):
            if not seen and self.shares_in(conn):
                seen.append(conn)
                conn.connection.dbapi_connection.commit()
                pid = conn.exec_driver_sql('SELECT pg_backend_pid()').scalar()
                self.servers.primary.ask(f'SELECT pg_terminate_backend({pid}, 5000)')

        seen = []
        sa.event.listen(engine, 'commit', committed)
        self.addCleanup(sa.event.remove, engine, 'commit', committed)
        return seen

    def shares_in(self, conn):
        """Say whether the transaction has a share of the project."""
        found = sa.select(models.shares.c.id).where(models.shares.c.project_id == self.project).limit(1)
        return conn.connection.dbapi_connection and conn.execute(found).first()

    def test_53_share_is_made_once_if_its_commit_is_in_doubt(self):
        seen = self.break_one_commit()
        status, document, headers = self.create()
        self.assertTrue(seen)
        self.assertEqual((503, '1'), (status, headers['Retry-After']), document)
        self.assertIn('may be done or not', document['serviceUnavailable']['message'])
        self.assertEqual(1, len(self.shares()))

    def test_53_with_an_idempotency_key_the_answer_is_found(self):
        seen = self.break_one_commit()
        status, document, _ = self.create(**{'Idempotency-Key': self.project})
        self.assertTrue(seen)
        self.assertEqual(200, status, document)
        self.assertEqual({document['share']['id']}, self.shares())

    def test_53_work_goes_on_after_a_promotion(self):
        accepted = [self.create()[1]['share']['id'] for _ in range(3)]
        self.servers.fail_over()

        def again():
            status, document, headers = self.create()
            if status != 200:
                self.assertEqual((503, '1'), (status, headers['Retry-After']), document)
                return False
            accepted.append(document['share']['id'])
            return True

        waiting.until(again, 'a share is accepted by the new primary')
        for share_id in accepted:
            self.user.wait(f'/shares/{share_id}', 'share', 'available')
        self.assertEqual(set(accepted), self.shares())
        self.servers.rejoin()
        self.create()

    def test_53_standby_is_left_for_the_primary(self):
        """A connection to a server that may only be read is given up, and the next one finds the primary."""
        first = self.create()[1]['share']['id']
        with self.service.services.db.engine.connect() as conn:
            conn.exec_driver_sql('SET default_transaction_read_only = on')
            conn.commit()
        status, document, _ = self.create()
        self.assertEqual(200, status, document)
        self.assertEqual({first, document['share']['id']}, self.shares())
