# SPDX-License-Identifier: Apache-2.0
"""Answers of backends to requests that add a subnet to share servers in use: whose they are, and what a refusal says."""

import concurrent.futures

from manila_lite.db.queries import operations
from manila_lite.tests import waiting
from manila_lite.tests.functional import base, served

_CHECK = 'check_update_share_server_network_allocations'
_UPDATE = 'update_share_server_network_allocations'


class SubnetAnswers(served.ServedTest):
    def used_network(self):
        """Return the id of a network with a share server."""
        network = self.network()
        self.share(network)
        return network

    def add(self, network, subnet, caller=None):
        """Ask for one more subnet; return (status, the refusal or None)."""
        status, document, _ = (caller or self.user).call(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': subnet}},
        )
        return status, document.get('conflictingRequest')

    def check(self, network, subnet, **more):
        """Ask whether the subnet can be added; return the answer."""
        return self.act(
            network,
            'share_network_subnet_create_check',
            {'neutron_net_id': 'blue', 'neutron_subnet_id': subnet, **more},
        )[1]['compatible']

    def test_second_of_two_identical_requests_is_refused_at_once(self):
        network = self.used_network()
        self.fault(f'{_CHECK}:hang')
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            first = executor.submit(self.add, network, 'blue-v6')
            base.eventually(lambda: self.asked(network), 'the backend is not asked')
            status, refusal = self.add(network, 'blue-v6')
            self.assertEqual((409, 'same_change_pending'), (status, refusal['reason']), refusal)
            self.assertIn(network, refusal['message'])
            self.assertFalse(first.done())
            self.service.knob('alpha', '')
            self.assertEqual(200, first.result()[0])
        self.settled(network)
        self.assertEqual(2, len(self.shown(network)['share_network_subnets']))

    def asked(self, network):
        with self.service.services.db.reader() as conn:
            return operations.list_of_resource(conn, network, 'subnet.check')

    def test_request_is_refused_as_soon_as_another_changes_the_servers(self):
        network = self.used_network()
        # The first check has no answer, and the change does not end, before the request is refused.
        self.fault(f'{_CHECK}:hang@once\n{_UPDATE}:hang')
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            late = executor.submit(self.add, network, 'blue-v6')
            base.eventually(lambda: self.asked(network), 'the backend is not asked')
            base.eventually(lambda: _CHECK in self.used_faults(), 'the first check does not hang')
            self.assertEqual(200, self.add(network, 'blue-small')[0])
            status, refusal = late.result(waiting.LIMIT)
        self.assertEqual((409, 'wrong_state'), (status, refusal['reason']), refusal)
        self.assertIn('being changed by another request', refusal['message'])
        self.service.knob('alpha', '')
        self.settled(network)
        self.assertEqual(['active'], [server.status for server in self.servers(network)])

    def used_faults(self):
        used = self.service.managers['alpha'].driver.knobs.used
        return used.read_text() if used.exists() else ''

    def test_answer_of_a_request_survives_repeated_checks(self):
        network = self.used_network()
        self.fault(f'{_CHECK}:hang')
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            adding = executor.submit(self.add, network, 'blue-v6')
            base.eventually(lambda: self.asked(network), 'the backend is not asked')
            for _ in range(3):
                self.check(network, 'blue-v6', reset_operation=True)
            self.service.knob('alpha', '')
            self.assertEqual(200, adding.result()[0])
        self.settled(network)

    def test_open_check_survives_a_refused_request(self):
        network = self.used_network()
        self.service.conf.set_override('subnet_check_timeout', 1, 'api')
        self.addCleanup(self.service.conf.clear_override, 'subnet_check_timeout', 'api')
        self.fault(f'{_CHECK}:hang')
        self.assertIsNone(self.check(network, 'blue-v6'))
        [before] = self.asked(network)
        self.assertEqual(409, self.add(network, 'blue-v6')[0])
        self.assertEqual([before.id], [row.id for row in self.asked(network)])
        self.service.knob('alpha', '')
        base.eventually(lambda: self.check(network, 'blue-v6') is True, 'the check has no answer')
        self.assertEqual([before.id], [row.id for row in self.asked(network)])

    def test_refusal_shows_the_exception_of_the_backend_to_administrators_only(self):
        network = self.used_network()
        self.fault(f'{_CHECK}:fail')
        _, refusal = self.add(network, 'blue-v6')
        [server] = self.servers(network)
        self.assertEqual(
            f'Share servers {server.id} cannot be given the subnet: its backend failed to check it.',
            refusal['message'],
        )
        _, shown = self.add(network, 'blue-v6', caller=self.admin)
        self.assertIn('lost touch with the backend', shown['message'])
