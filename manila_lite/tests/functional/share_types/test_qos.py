# SPDX-License-Identifier: Apache-2.0
"""QoS types: their specs are passed to the driver, and their shares are placed only on backends with QoS."""

import concurrent.futures

from manila_lite.tests.functional import base

_DHSS = {'driver_handles_share_servers': 'False'}


class Qos(base.ServiceTest):
    """One backend with QoS, and one without."""

    BACKENDS = {'alpha': 'dummy_pool_size_gb = 10', 'beta': 'dummy_capabilities = qos:false'}

    def qos(self, name, **specs):
        made = self.admin.ok('POST', '/qos-types', {'qos_type': {'name': name, 'specs': specs}})['qos_type']
        return made['id']

    def kind(self, name, **specs):
        self.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': {**_DHSS, **specs}}})
        return name

    def promised(self, share):
        """Return the QoS specs that the backend was given for the share."""
        found = self.admin.ok('GET', f'/shares/{share}')['share']
        self.assertEqual('test@alpha#pool1', found['host'])
        instance = self.admin.ok('GET', f'/shares/{share}/instances')['share_instances'][0]['id']
        return self.service.managers['alpha'].driver.store.share(instance).qos

    def test_share_gets_the_qos_specs_that_its_type_names_by_name_or_id(self):
        qos_type_id = self.qos('gold', maxbps='1000')
        for number, named in enumerate(('gold', qos_type_id)):
            share = self.caller().share(share_type=self.kind(f'quick-{number}', default_qos_type=named))
            self.assertEqual({'maxbps': '1000'}, self.promised(share['id']))

    def test_changed_qos_specs_are_applied_when_the_share_is_ensured(self):
        qos_type_id = self.qos('silver', maxbps='1000')
        share = self.caller().share(share_type=self.kind('slow', default_qos_type='silver'))['id']
        self.admin.ok('POST', f'/qos-types/{qos_type_id}/specs', {'specs': {'maxbps': '2000'}})
        self.ask_to_ensure('test@alpha')
        base.eventually(lambda: self.promised(share) == {'maxbps': '2000'}, 'the backend was not told')

    def test_backend_without_qos_is_not_chosen(self):
        """Place no share on a backend without QoS, even if no other has enough capacity."""
        self.qos('bronze', maxbps='1')
        share = self.caller().share(
            share_type=self.kind('large', default_qos_type='bronze'), size=20, wait='error'
        )
        [message] = self.caller().ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertIn('after CapabilitiesFilter 1', message['user_message'])
        plain = self.caller().share(share_type=self.kind('plain'), size=20)['id']
        self.assertEqual('test@beta#pool1', self.admin.ok('GET', f'/shares/{plain}')['share']['host'])

    def test_qos_type_is_either_deleted_or_named_by_a_share_type(self):
        """Refuse the later of two requests: to delete a QoS type, and to let a share type name it."""
        for number in range(10):
            name = f'brief-{number}'
            qos_type_id = self.qos(name)
            kind = self.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': _DHSS}})[
                'share_type'
            ]
            path = f'/types/{kind["id"]}/extra_specs'
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                named = pool.submit(
                    self.admin.call, 'POST', path, {'extra_specs': {'default_qos_type': name}}
                )
                gone = pool.submit(self.admin.call, 'DELETE', f'/qos-types/{qos_type_id}')
            self.assertIn((named.result()[0], gone.result()[0]), ((200, 409), (400, 204)))

    def test_qos_type_is_deleted_or_a_new_share_type_keeps_it(self):
        """Keep a QoS type if a share type that names it was first; else the share type waits for another, without shares."""
        for number in range(3):
            name = f'late-{number}'
            qos_type_id = self.qos(name)
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                made = pool.submit(self.kind, name, default_qos_type=name)
                gone = pool.submit(self.admin.call, 'DELETE', f'/qos-types/{qos_type_id}')
            made.result()
            shared = self.caller().call(
                'POST', '/shares', {'share': {'share_proto': 'NFS', 'size': 1, 'share_type': name}}
            )
            self.assertIn((gone.result()[0], shared[0]), ((409, 200), (204, 400)))

    def test_concurrent_writes_of_one_spec_succeed(self):
        path = f'/qos-types/{self.qos("iron")}/specs'
        for number in range(5):
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                calls = [
                    pool.submit(self.admin.call, 'POST', path, {'specs': {f'key-{number}': str(value)}})
                    for value in range(6)
                ]
            self.assertEqual([200] * 6, [call.result()[0] for call in calls])
        self.assertEqual(
            [f'key-{number}' for number in range(5)], sorted(self.admin.ok('GET', path)['specs'])
        )
