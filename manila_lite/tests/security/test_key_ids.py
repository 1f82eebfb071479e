# SPDX-License-Identifier: Apache-2.0
"""A key that the caller does not have encrypts no share: it is looked up wherever there is a key manager."""

from oslo_utils import uuidutils

from manila_lite.tests.functional import base

_KEYS = '[key_manager]\nbackend = castellan.tests.unit.key_manager.mock_key_manager.MockKeyManager\n'


class KeyIdsTest(base.ServiceTest):
    """A key id that nobody has, in a request for an encrypted share."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'safe',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'encryption_support': 'share'},
                }
            },
        )

    def status(self):
        """Return the status, and the reason of a refusal."""
        status, document, _ = self.caller().call(
            'POST',
            '/shares',
            {
                'share': {
                    'size': 1,
                    'share_proto': 'NFS',
                    'share_type': 'safe',
                    'encryption_key_ref': uuidutils.generate_uuid(),
                }
            },
        )
        [answer] = document.values()
        return status, answer.get('reason')


class KeyManager(KeyIdsTest):
    EXTRA = _KEYS

    def test_by_default_key_is_looked_up_where_there_is_a_key_manager(self):
        self.assertEqual((400, 'encryption_key_not_found'), self.status())

    def test_lookup_can_be_turned_off(self):
        self.service.conf.set_override('check_keys', False, 'encryption')
        self.addCleanup(self.service.conf.clear_override, 'check_keys', 'encryption')
        self.assertEqual((200, None), self.status())


class KeyManagerByItsOwnSection(KeyIdsTest):
    """Barbican is the default: its section alone says that it is there, though it cannot be asked here."""

    EXTRA = '[barbican]\nbarbican_endpoint = http://127.0.0.1:9\nauth_endpoint = http://127.0.0.1:9/v3\n'

    def test_key_is_looked_up(self):
        self.assertEqual((503, 'service_unavailable'), self.status())


class NoKeyManager(KeyIdsTest):
    def test_key_is_only_passed_on(self):
        self.assertEqual((200, None), self.status())
