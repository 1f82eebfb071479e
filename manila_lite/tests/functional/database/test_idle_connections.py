# SPDX-License-Identifier: Apache-2.0
"""Connections to the database: they are used again without a ping, so they may be lost; none keeps a transaction open."""

import contextlib
import itertools

import fixtures
import sqlalchemy as sa

from manila_lite.db.core import idle_connections
from manila_lite.tests.functional import base

_SHARE = {'share': {'size': 1, 'share_proto': 'NFS'}}
#: Statement that lists the other connections to the database of the connection, by the name of the dialect.
_OTHERS = {
    'mysql': 'SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()',
    'postgresql': 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
}
_END = {'mysql': 'KILL {}', 'postgresql': 'SELECT pg_terminate_backend({})'}
#: Statement that counts the transactions of these connections.
_OPEN = {
    'mysql': f'SELECT count(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id IN ({_OTHERS["mysql"]})',
    'postgresql': f"{_OTHERS['postgresql']} AND state <> 'idle'".replace('SELECT pid', 'SELECT count(*)'),
}


class Connections(base.ServiceTest):
    """An API alone, and a connection of the test's own to its database."""

    PARTS = ()
    BACKENDS = {}

    def setUp(self):
        super().setUp()
        self.engine = self.service.services.db.engine
        self.kind = self.engine.dialect.name
        if self.kind == 'sqlite':
            self.skipTest('only PostgreSQL has a server that ends connections, and MariaDB')
        other = sa.create_engine(self.engine.url, isolation_level='AUTOCOMMIT', poolclass=sa.NullPool)
        self.conn = self.enterContext(contextlib.closing(other.connect()))
        self.api = base.Api(self.service.app)

    def end_all(self):
        """End all other connections to the database; return how many there were."""
        others = self.conn.exec_driver_sql(_OTHERS[self.kind]).scalars().all()
        for one in others:
            self.conn.exec_driver_sql(_END[self.kind].format(one))
        base.eventually(
            lambda: not set(others) & set(self.conn.exec_driver_sql(_OTHERS[self.kind]).scalars()),
            'they stay',
        )
        return len(others)

    def test_requests_succeed_after_the_server_ended_all_connections(self):
        """End them while they count as alive, and after a time without use, when they are pinged."""
        for alive, (method, body) in itertools.product((3600.0, 0.0), (('GET', None), ('POST', _SHARE))):
            self.useFixture(fixtures.MonkeyPatch(f'{idle_connections.__name__}.ALIVE', alive))
            self.api.ok('GET', '/shares')
            self.assertGreater(self.end_all(), 0)
            self.api.ok(method, '/shares', body)

    def test_no_connection_keeps_a_transaction(self):
        for status, method, path, body in (
            (200, 'GET', '/shares', None),
            (200, 'POST', '/shares', _SHARE),
            (404, 'GET', '/shares/none', None),
            (404, 'DELETE', '/shares/none', None),
        ):
            self.assertEqual(status, self.api.call(method, path, body)[0])
            self.assertEqual(0, self.conn.exec_driver_sql(_OPEN[self.kind]).scalar(), path)
