# SPDX-License-Identifier: Apache-2.0
"""A copy of the database holds no secret in plain text."""

import os
import shutil
import stat

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.encryption import key_file
from manila_lite.tests import hush
from manila_lite.tests.functional import base, manage

_URL = '/security-services'
_ON_SQLITE = os.environ.get('MANILA_LITE_TEST_DATABASE', 'sqlite') == 'sqlite'


class InTheDatabase(base.ServiceTest):
    """Passwords of security services, and keys of access rules from a backend, as the database keeps them."""

    BACKENDS = {'alpha': 'dummy_pool_size_gb = 100\n'}

    def setUp(self):
        super().setUp()
        self.user = self.caller()
        self.file = self.service.state / 'secrets.key'
        self.addCleanup(self.file.write_text, self.file.read_text())

    def made(self, password):
        """Return the id of a security service with this password."""
        return self.user.ok(
            'POST', _URL, {'security_service': {'type': 'ldap', 'name': 'n', 'password': password}}
        )['security_service']['id']

    def password(self, service_id, api=None):
        """Return the password that the API shows."""
        return (api or self.user).ok('GET', f'{_URL}/{service_id}')['security_service']['password']

    def kept(self, resource_id, table=models.security_services, column='password'):
        """Return the value in the database."""
        with self.service.services.db.reader() as conn:
            return conn.execute(sa.select(table.c[column]).where(table.c.id == resource_id)).scalar_one()

    def manage(self, *words, status=0):
        """Run a command of ``manila-manage`` beside the service; return its output."""
        got, out, err = manage.run(self.service.state / 'manila_lite.conf', 'manage', *words)
        self.assertEqual(status, got, out + err)
        return out + err

    def everywhere(self):
        """Return the whole content of the database."""
        if _ON_SQLITE:
            return b''.join(path.read_bytes() for path in self.service.state.glob('*sqlite*'))
        texts = []
        with self.service.services.db.reader() as conn:
            for table in models.metadata.sorted_tables:
                texts += [repr(tuple(row)).encode() for row in conn.execute(sa.select(table))]
        return b''.join(texts)

    def test_password_is_nowhere_in_the_database(self):
        password = hush.secret('password')
        service_id = self.made(password)
        self.assertEqual(password, self.password(service_id))
        [listed] = [
            one
            for one in self.user.ok('GET', f'{_URL}/detail')['security_services']
            if one['id'] == service_id
        ]
        self.assertEqual(password, listed['password'])
        other = hush.secret('password')
        self.user.ok('PUT', f'{_URL}/{service_id}', {'security_service': {'password': other}})
        self.assertEqual(other, self.password(service_id))
        database = self.everywhere()
        self.assertIn(service_id.encode(), database)
        for secret in (password, other):
            self.assertNotIn(secret.encode(), database)

    def test_empty_and_longest_passwords_are_kept(self):
        for password in (None, '', '\N{GRINNING FACE}' * 255, '$fernet$not'):
            self.assertEqual(password, self.password(self.made(password)))

    def test_access_key_is_nowhere_in_the_database(self):
        driver = self.service.managers['alpha'].driver
        before, key = driver.update_access, hush.secret('key')

        def update_access(share, rules):
            return {
                rule_id: type(result)(error=result.error, access_key=key)
                for rule_id, result in before(share, rules).items()
            }

        driver.update_access = update_access
        self.addCleanup(setattr, driver, 'update_access', before)
        share = self.user.share()['id']
        rule = self.user.action(
            share, 'allow_access', {'access_type': 'ip', 'access_to': '192.0.2.1', 'access_level': 'rw'}
        )[1]['access']['id']
        self.user.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        self.assertEqual(key, self.user.ok('GET', f'/share-access-rules/{rule}')['access']['access_key'])
        for asked, number in ((key, 1), ('another', 0)):
            access_list = self.user.ok('GET', f'/share-access-rules?share_id={share}&access_key={asked}')[
                'access_list'
            ]
            self.assertEqual(number, len(access_list))
        self.assertNotIn(key.encode(), self.everywhere())

    def test_old_key_is_not_needed_after_rotation(self):
        old = hush.secret('password')
        plain = hush.secret('plain')
        encrypted, before = self.made(old), self.made(None)
        with self.service.services.db.writer() as conn:  # as an older release wrote it
            table = models.security_services
            conn.execute(table.update().where(table.c.id == before).values(password=plain))
        self.assertEqual(plain, self.password(before))
        self.manage('secret', 'list', status=1)
        first, keys = self.kept(encrypted), self.file.read_text()
        fresh = self.manage('secret', 'new_key').strip()
        self.file.write_text(f'{fresh}\n{keys}')
        self.assertEqual(
            (old, plain), (self.password(encrypted), self.password(before))
        )  # the service has not been told
        self.assertRegex(self.manage('secret', 'reencrypt'), r'[1-9]\d* secrets were encrypted again')
        self.assertIn('\n0 secrets were encrypted again', self.manage('secret', 'reencrypt'))
        self.file.write_text(f'{fresh}\n')
        self.manage('secret', 'list')
        self.assertEqual((old, plain), (self.password(encrypted), self.password(before)))
        self.assertNotEqual(first, self.kept(encrypted))
        database = self.everywhere()
        for gone in (old, plain, *([first] if _ON_SQLITE else [])):
            self.assertNotIn(gone.encode(), database)
        self.addCleanup(self.manage, 'secret', 'reencrypt')
        self.addCleanup(self.file.write_text, f'{keys}\n{fresh}\n')

    def test_calls_with_secrets_are_refused_with_503_without_the_key(self):
        service_id, other = self.made(hush.secret('password')), key_file.new()
        keys = self.file.read_text()
        for spoil, why in (
            (lambda: self.file.write_text(f'{other}\n'), 'another key'),
            (self.file.unlink, 'is not there'),
        ):
            spoil()
            for method, path, body in (
                ('GET', f'{_URL}/{service_id}', None),
                ('POST', _URL, {'security_service': {'type': 'ldap', 'password': hush.secret('password')}}),
            ):
                status, said, _ = self.user.call(method, path, body)
                self.assertEqual(503, status, said)
                self.assertNotIn(str(self.file), str(said))
            self.assertEqual(
                200,
                self.user.call('PUT', f'{_URL}/{self.made(None)}', {'security_service': {'name': 'm'}})[0],
            )
            self.assertIn(why, self.manage('secret', 'reencrypt', status=2))
            self.assertIn(why, self.manage('db', 'sync', status=2))
        self.file.touch(mode=0o600)
        self.file.write_text(keys)
        self.password(service_id)

    def test_key_file_readable_by_others_is_refused(self):
        self.file.chmod(0o644)
        self.addCleanup(self.file.chmod, 0o600)
        self.assertIn('mode 0644', self.manage('secret', 'reencrypt', status=2))
        self.file.chmod(0o640)
        self.manage('secret', 'reencrypt')

    def pin(self, version):
        self.service.conf.set_override('operations', version, 'upgrade_levels')
        self.addCleanup(self.service.conf.clear_override, 'operations', 'upgrade_levels')

    def test_secrets_are_encrypted_during_an_upgrade(self):
        self.pin('1.1')
        password = hush.secret('password')
        service_id = self.made(password)
        self.assertEqual(password, self.password(service_id))
        self.assertNotIn(password.encode(), self.everywhere())

    def test_secrets_are_readable_by_processes_that_cannot_decrypt_during_an_upgrade(self):
        self.pin('1.0')
        password = hush.secret('password')
        self.assertEqual(password, self.kept(self.made(password)))

    def test_key_file_has_mode_0600_and_the_owner_of_its_directory(self):
        status = self.file.stat()
        self.assertEqual(
            (0o600, self.service.state.stat().st_uid), (stat.S_IMODE(status.st_mode), status.st_uid)
        )


class OtherHosts(manage.AloneTest):
    """A database that other hosts use already."""

    def configure(self):
        self.config.write_text(f'[DEFAULT]\nstate_path = {self.state}\n[database]\nconnection = {self.url}\n')

    def test_db_sync_is_refused_on_a_host_without_the_key_file(self):
        self.assertEqual(0, manage.run(self.config, 'manage', 'db', 'sync')[0])
        key = self.state / 'secrets.key'
        shutil.move(key, self.state / 'elsewhere')
        got, out, err = manage.run(self.config, 'manage', 'db', 'sync')
        self.assertEqual(2, got)
        self.assertIn(f'{key} is not there: copy it', out + err)
        self.assertFalse(key.exists())
        shutil.move(self.state / 'elsewhere', key)
        self.assertEqual(0, manage.run(self.config, 'manage', 'db', 'sync')[0])
