# SPDX-License-Identifier: Apache-2.0
"""Keys in a real Barbican: those of tenants for encrypted shares, and those of the service for its secrets."""

import base64
import os
import unittest

import fixtures
from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import conf as options
from manila_lite import errors, key_manager
from manila_lite.tests.functional import keystone_base
from manila_lite.tests.services.barbican import Barbican
from manila_lite.tests.services.daemon import Missing
from manila_lite.tests.services.keystone import ADMIN

#: As in doc/source/admin/promises.rst.
_KEYS = '[key_manager]\nbackend = barbican\n'
#: As in doc/source/admin/secrets.rst.
_LOGIN = {
    'auth_type': 'keystone_password',
    'username': 'manila',
    'project_name': 'service',
    'user_domain_name': 'Default',
    'project_domain_name': 'Default',
}


class BarbicanTest(keystone_base.KeystoneTest):
    """An API that asks Barbican."""

    MORE = _KEYS

    @classmethod
    def setUpClass(cls):
        cls.barbican = Barbican(keystone_base.keystone())
        try:
            cls.barbican.setUp()
        except fixtures.MultipleExceptions as bad:
            if not isinstance(bad.args[0][1], Missing):
                raise
            raise unittest.SkipTest(f'no Barbican: {bad.args[0][1]}') from None
        cls.addClassCleanup(cls.barbican.cleanUp)
        super().setUpClass()
        specs = {'driver_handles_share_servers': 'False', 'encryption_support': 'share'}
        cls.admin.ok('POST', '/types', {'share_type': {'name': 'safe', 'extra_specs': specs}})

    def key(self, user, project, secret=None):
        """Have a user store a key of 256 bits in Barbican; return its id."""
        return (
            self.keystone.connect(user, project)
            .key_manager.create_secret(
                algorithm='aes',
                bit_length=256,
                mode='cbc',
                secret_type='symmetric',
                payload=base64.b64encode(secret or os.urandom(32)).decode(),
                payload_content_type='application/octet-stream',
                payload_content_encoding='base64',
            )
            .secret_id
        )


class KeysOfTenants(BarbicanTest):
    """Requests for encrypted shares, each with the token of its user."""

    def create(self, user, project, key):
        """Ask for an encrypted share; return the status and the document in the answer."""
        share = {'size': 1, 'share_proto': 'NFS', 'share_type': 'safe', 'encryption_key_ref': key}
        status, document, _ = self.caller_of(user, project).call('POST', '/shares', {'share': share})
        return status, next(iter(document.values()))

    def test_key_of_the_project_encrypts_a_share(self):
        key = self.key('demo', 'demo')
        status, share = self.create('demo', 'demo', key)
        self.assertEqual((200, key), (status, share.get('encryption_key_ref')), share)

    def test_key_of_another_project_is_refused_as_one_that_nobody_has(self):
        for key in (self.key('demo', 'demo'), uuidutils.generate_uuid()):
            status, fault = self.create('other', 'other', key)
            self.assertEqual((400, 'encryption_key_not_found'), (status, fault.get('reason')), fault)
            self.assertIn(f'there is no key {key} that you may use', fault['message'])

    def test_request_gets_503_while_barbican_is_away(self):
        key = self.key('demo', 'demo')
        self.barbican.stop()
        try:
            status, fault = self.create('demo', 'demo', key)
        finally:
            self.barbican.start()
        self.assertEqual(503, status, fault)
        self.assertEqual(200, self.create('demo', 'demo', key)[0])


class KeysOfTheService(BarbicanTest):
    """The keys by which the service encrypts secrets, with a login of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        identity, found = cls.keystone.connect(ADMIN, ADMIN).identity, cls.keystone
        identity.assign_project_role_to_user(
            found.projects['service'], found.users['manila'], identity.find_role('member').id
        )

    def conf(self, **login):
        """Return the configuration of the page for this Keystone."""
        conf = options.register(cfg.ConfigOpts())
        lines = {**_LOGIN, 'auth_url': self.keystone.url, 'password': self.keystone.password, **login}
        text = _KEYS + ''.join(f'{name} = {value}\n' for name, value in lines.items())
        path = self.barbican.write('client.conf', text)
        conf([f'--config-file={path}'], default_config_files=[])
        return conf

    def test_service_gets_its_key_with_its_login(self):
        secret = os.urandom(32)
        key = self.key('manila', 'service', secret)
        self.assertEqual(base64.urlsafe_b64encode(secret), key_manager.own_key(self.conf(), key))

    def test_key_of_another_project_is_not_given(self):
        self.assertRaisesRegex(
            errors.BadConfig, 'does not give key', key_manager.own_key, self.conf(), self.key('demo', 'demo')
        )

    def test_wrong_password_is_said_without_it(self):
        key = self.key('demo', 'demo')
        bad = self.assertRaises(errors.BadConfig, key_manager.own_key, self.conf(password='wrong-one'), key)
        self.assertNotIn('wrong-one', str(bad))
