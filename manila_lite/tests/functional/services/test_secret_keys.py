# SPDX-License-Identifier: Apache-2.0
"""Keys of secrets: keys of the key manager, and new encryption of all secrets of a database, in portions."""

from pathlib import Path

import fixtures
import sqlalchemy as sa
import testtools
from castellan.common.objects import symmetric_key
from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import conf as options
from manila_lite import context, encryption, errors, key_manager
from manila_lite.db import models
from manila_lite.db.core.engine import Database
from manila_lite.encryption import key_file, keys, renewal
from manila_lite.tests.schemas import newest_schema
from manila_lite.tests.services import places

_table = models.security_services
_KEYS = 'castellan.tests.unit.key_manager.mock_key_manager.MockKeyManager'


class SecretKeys(testtools.TestCase):
    """Secrets in a database without a service."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        url = self.useFixture(places.EmptyDatabase(self.state)).url
        self.conf = options.register(cfg.ConfigOpts())
        self.conf([], default_config_files=[])
        self.conf.set_override('state_path', str(self.state))
        self.conf.set_override('connection', url.replace('$', '$$'), 'database')
        self.db = Database(self.conf)
        self.addCleanup(self.db.dispose)
        newest_schema(self.db, models.metadata)

    def insert(self, *passwords):
        with self.db.writer() as conn:
            conn.execute(
                _table.insert(),
                [
                    {'id': uuidutils.generate_uuid(), 'project_id': 'p', 'type': 'ldap', 'password': password}
                    for password in passwords
                ],
            )

    def kept(self):
        with self.db.reader() as conn:
            return list(conn.execute(sa.select(_table.c.password)).scalars())

    def states(self):
        return dict(renewal.count_secrets(self.conf, self.db)['passwords of security services'])

    def test_secrets_are_reencrypted_in_portions(self):
        encryption.prepare(self.conf, self.db)
        self.insert(*(f'secret {number}' for number in range(450)), None)
        self.assertEqual({renewal.PLAIN: 450}, self.states())
        run = renewal.reencrypt(self.conf, self.db)
        self.assertEqual(200, len(next(run)))
        run.close()
        self.assertEqual({renewal.PLAIN: 250, renewal.FIRST: 200}, self.states())
        self.assertEqual(
            [200, 200, 50, 0, 0, 1], [len(portion) for portion in renewal.reencrypt(self.conf, self.db)]
        )
        self.assertEqual({renewal.FIRST: 450}, self.states())
        self.assertEqual(
            {None, *(f'secret {number}' for number in range(450))}, set(map(encryption.decrypt, self.kept()))
        )

    def test_secret_of_a_lost_key_is_reported_as_lost(self):
        encryption.prepare(self.conf, self.db)
        with self.db.writer() as conn:
            self.insert_as(conn, encryption.encrypt(conn, 'old'))
        self.insert('plain')
        (self.state / 'secrets.key').write_text(f'{key_file.new()}\n')
        self.assertEqual({renewal.PLAIN: 1, renewal.LOST: 1}, self.states())
        self.assertRaisesRegex(errors.BadConfig, 'another key', next, renewal.reencrypt(self.conf, self.db))
        self.assertRaises(
            errors.Unavailable, encryption.decrypt, next(one for one in self.kept() if one != 'plain')
        )

    def insert_as(self, conn, value):
        conn.execute(
            _table.insert().values(id=uuidutils.generate_uuid(), project_id='p', type='ldap', password=value)
        )

    def test_second_host_without_the_key_file_creates_no_key(self):
        encryption.prepare(self.conf, self.db)
        other = self.state / 'other' / 'key'
        self.conf.set_override('key_file', str(other), 'secrets')
        self.assertRaisesRegex(
            errors.BadConfig, 'other/key is not there', encryption.prepare, self.conf, self.db
        )
        self.assertFalse(other.exists())

    def key(self, bits=256):
        """Store a key in the key manager; return its id."""
        return key_manager.manager(self.conf).store(
            context.RequestContext(), symmetric_key.SymmetricKey('AES', bits, b'k' * (bits // 8))
        )

    def test_secrets_are_reencrypted_with_a_key_of_the_key_manager(self):
        encryption.prepare(self.conf, self.db)
        with self.db.writer() as conn:
            self.insert_as(conn, encryption.encrypt(conn, 'in the file'))
        key_manager.manager(self.conf)
        self.conf.set_override('backend', _KEYS, 'key_manager')
        self.conf.set_override('key_ids', [self.key()], 'secrets')
        encryption.use(self.conf)
        self.assertEqual({renewal.ANOTHER: 1}, self.states())
        list(renewal.reencrypt(self.conf, self.db))
        (self.state / 'secrets.key').unlink()
        self.assertEqual({renewal.FIRST: 1}, self.states())
        encryption.prepare(self.conf, self.db)
        self.assertFalse((self.state / 'secrets.key').exists())
        self.assertEqual(['in the file'], list(map(encryption.decrypt, self.kept())))
        for resource_id, why in (
            (self.key(128), 'has 128 bits'),
            (uuidutils.generate_uuid(), 'does not give key'),
        ):
            self.conf.set_override('key_ids', [resource_id], 'secrets')
            self.assertRaisesRegex(errors.BadConfig, why, keys.Keys(self.conf).load)
