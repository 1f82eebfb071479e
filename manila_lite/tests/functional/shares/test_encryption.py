# SPDX-License-Identifier: Apache-2.0
"""Shares that are encrypted with their owner's key: choice of the key, and its way to the backend."""

import concurrent.futures

from oslo_utils import uuidutils

from manila_lite import errors, key_manager
from manila_lite.tests.functional import base, served

_DHSS = 'driver_handles_share_servers'


class Keys(base.ServiceTest):
    """One backend with encryption, and one without. No key is looked up: ``identity/test_barbican.py`` does that."""

    BACKENDS = {'alpha': '', 'beta': 'dummy_capabilities = encryption_support:none'}
    EXTRA = '[quota]\nencryption_keys = 2\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, specs in (
            (
                'safe',
                {
                    'encryption_support': 'share',
                    'snapshot_support': 'True',
                    'create_share_from_snapshot_support': 'True',
                },
            ),
            ('plain', {}),
            ('servers', {'encryption_support': 'share_server'}),
        ):
            cls.admin.ok(
                'POST', '/types', {'share_type': {'name': name, 'extra_specs': {_DHSS: 'False', **specs}}}
            )

    def key(self):
        """Return the id of a key."""
        return uuidutils.generate_uuid()

    def refused(self, caller, reason, **values):
        status, document, _ = caller.call(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', **values}}
        )
        [found] = document.values()
        self.assertEqual(reason, found['reason'], document)
        return status

    def test_encryption_key_of_a_share_reaches_the_backend(self):
        caller, key = self.caller('told'), self.key()
        share = caller.share(share_type='safe', encryption_key_ref=key)
        self.assertEqual(key, share['encryption_key_ref'])
        found = self.admin.ok('GET', f'/shares/{share["id"]}')['share']
        self.assertEqual('test@alpha#pool1', found['host'])
        instance = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances'][0]['id']
        self.assertEqual(key, self.service.managers['alpha'].driver.store.share(instance).key)
        self.assertEqual(
            [share['id']],
            [row['id'] for row in caller.ok('GET', f'/shares?encryption_key_ref={key}')['shares']],
        )
        self.assertEqual(
            [], caller.ok('GET', f'/shares?encryption_key_ref={uuidutils.generate_uuid()}')['shares']
        )
        old = caller.ok('GET', f'/shares/{share["id"]}', version='2.89')['share']
        self.assertNotIn('encryption_key_ref', old)

    def test_malformed_encryption_key_id_is_refused(self):
        self.assertEqual(
            400, self.refused(self.caller(), 'invalid_input', share_type='safe', encryption_key_ref='secret')
        )

    def test_key_is_refused_for_types_without_share_encryption(self):
        key = self.key()
        for name in ('plain', 'servers'):
            self.refused(self.caller(), 'encryption_not_supported', share_type=name, encryption_key_ref=key)

    def test_share_from_a_snapshot_keeps_the_key_and_refuses_another(self):
        caller, key = self.caller('same'), self.key()
        share = caller.share(share_type='safe', encryption_key_ref=key)
        made = caller.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']['id']
        caller.wait(f'/snapshots/{made}', 'snapshot', 'available')
        self.assertEqual(key, caller.share(snapshot_id=made)['encryption_key_ref'])
        self.refused(caller, 'encryption_key_differs', snapshot_id=made, encryption_key_ref=self.key())

    def test_quota_counts_a_key_once(self):
        caller, keys = self.caller('counted'), [self.key() for _ in range(3)]
        for key in (keys[0], keys[0], keys[1]):
            caller.share(share_type='safe', encryption_key_ref=key)
        used = caller.ok('GET', '/quota-sets/counted/detail')['quota_set']['encryption_keys']
        self.assertEqual((2, 2), (used['in_use'], used['limit']))
        self.assertEqual(
            413,
            self.refused(caller, 'over_quota_encryption_keys', share_type='safe', encryption_key_ref=keys[2]),
        )
        caller.share(share_type='safe', encryption_key_ref=keys[1])

    def test_simultaneous_shares_with_one_key_fit_a_quota_of_one_key(self):
        self.admin.ok('PUT', '/quota-sets/hasty', {'quota_set': {'encryption_keys': 1}})
        body = {
            'share': {'size': 1, 'share_proto': 'NFS', 'share_type': 'safe', 'encryption_key_ref': self.key()}
        }
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(self.caller('hasty').call, 'POST', '/shares', body) for _ in range(6)]
        self.assertEqual([200] * 6, [call.result()[0] for call in calls])

    def test_key_id_spellings_are_treated_as_the_same_key(self):
        caller, key = self.caller('written'), self.key()
        ways = (key, key.upper(), key.replace('-', ''))
        shares = [caller.share(share_type='safe', encryption_key_ref=way) for way in ways]
        self.assertEqual({key}, {share['encryption_key_ref'] for share in shares})
        self.assertEqual(
            1, caller.ok('GET', '/quota-sets/written/detail')['quota_set']['encryption_keys']['in_use']
        )
        made = caller.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]['id']}})['snapshot']['id']
        caller.wait(f'/snapshots/{made}', 'snapshot', 'available')
        caller.share(snapshot_id=made, encryption_key_ref=key.upper())
        for way in ways:
            self.assertEqual(4, len(caller.ok('GET', f'/shares?encryption_key_ref={way}')['shares']))


class Servers(served.ServedTest):
    """A backend whose share servers are encrypted, and hold more than one share."""

    BACKENDS = {'alpha': 'driver_handles_share_servers = true'}

    def test_shares_with_different_keys_are_on_different_servers(self):
        """Check that shares with different keys, or none, are on different servers. Keys are not looked up by default."""
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'sealed',
                    'extra_specs': {_DHSS: 'True', 'encryption_support': 'share_server'},
                }
            },
        )
        network, keys = self.network(), [uuidutils.generate_uuid() for _ in range(2)]
        wanted = (keys[0], keys[1], None, keys[0], None)
        shares = [
            self.user.share(
                share_type='sealed', share_network_id=network, **({'encryption_key_ref': key} if key else {})
            )
            for key in wanted
        ]
        on = [self.admin.ok('GET', f'/shares/{share["id"]}')['share']['share_server_id'] for share in shares]
        self.assertEqual((on[3], on[4], 3), (on[0], on[2], len(set(on))))
        for key, server_id in zip(wanted, on, strict=True):
            self.assertEqual(
                key, self.admin.ok('GET', f'/share-servers/{server_id}')['share_server']['encryption_key_ref']
            )
        for way in (keys[1], keys[1].upper()):
            found = self.admin.ok('GET', f'/share-servers?encryption_key_ref={way}')['share_servers']
            self.assertEqual([on[1]], [server['id'] for server in found])

    def test_managed_share_gets_the_key_of_its_encrypted_server(self):
        """Check that a managed share gets the key of its share server, and that a type without encryption is refused.

        Otherwise new shares from its snapshots could be on servers that are not encrypted so.
        """
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'closed',
                    'extra_specs': {_DHSS: 'True', 'encryption_support': 'share_server'},
                }
            },
        )
        key = uuidutils.generate_uuid()
        share = self.user.share(share_type='closed', share_network_id=self.network(), encryption_key_ref=key)
        seen = self.admin.ok('GET', f'/shares/{share["id"]}')['share']
        path = self.user.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations'][0]['path']
        self.assertEqual(202, self.admin.action(share['id'], 'unmanage')[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')
        wanted = {
            'service_host': seen['host'],
            'protocol': 'NFS',
            'export_path': path,
            'share_server_id': seen['share_server_id'],
        }
        status, document, _ = self.admin.call(
            'POST', '/shares/manage', {'share': {**wanted, 'share_type': 'served'}}
        )
        self.assertEqual(
            (409, 'bad_share_server'), (status, document['conflictingRequest']['reason']), document
        )
        back = self.admin.ok('POST', '/shares/manage', {'share': {**wanted, 'share_type': 'closed'}})['share']
        self.assertEqual(
            key, self.admin.wait(f'/shares/{back["id"]}', 'share', 'available')['encryption_key_ref']
        )


class Unreachable(base.ServiceTest):
    """A key manager client without a key manager at its address."""

    EXTRA = '[key_manager]\nbackend = vault\n[vault]\nvault_url = http://127.0.0.1:9\n'

    def test_request_with_a_key_answers_503(self):
        self.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'safe', 'extra_specs': {_DHSS: 'False', 'encryption_support': 'share'}}},
        )
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
        self.assertEqual(
            (503, 'service_unavailable'), (status, document['serviceUnavailable']['reason']), document
        )
        self.caller().share(share_type='safe')

    def test_unknown_key_manager_backend_is_a_configuration_error(self):
        key_manager.check(self.service.conf)  # registers castellan's options
        self.service.conf.set_override('backend', 'no.such.Manager', 'key_manager')
        self.addCleanup(self.service.conf.clear_override, 'backend', 'key_manager')
        wrong = self.assertRaises(errors.BadConfig, key_manager.check, self.service.conf)
        self.assertIn("No module named 'no'", str(wrong))
