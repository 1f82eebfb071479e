# SPDX-License-Identifier: Apache-2.0
"""SQL statements for a change of share servers in use: a fixed number, and a fixed number for each server."""

import re

import sqlalchemy as sa

from manila_lite.tests.functional import served, test_budgets

#: Statements of the request. Looks for the backends' answers are not counted, since their number depends on time.
REQUEST, REQUEST_EACH = 28, 1
#: Statements of workers for each server, one only where rows are locked; without heartbeats and looks for work.
WORKER_EACH = 48
SERVERS = (1, 2, 4, 8)


class Changes(served.ServedTest):
    """Share servers of one share each, and one worker, since workers that compete for an address need more statements."""

    EXTRA = '[operations]\nworkers = 1\n'

    def cost(self, count, change):
        """Return the statements of the request and of the workers for a network with ``count`` servers."""
        network = self.network()
        shares = [self.share(network, wait=None)['id'] for _ in range(count)]
        for share in shares:
            self.user.wait(f'/shares/{share}', 'share', 'available')
        counter = test_budgets.Counter()
        engine = self.service.services.db.engine
        sa.event.listen(engine, 'before_cursor_execute', counter.saw)
        try:
            change(network)
            request = [text for name, text in counter.statements if name == 'MainThread' and not _a_look(text)]
            self.settled(network)
            # The number of renewals of a lease depends on time.
            workers = [text for name, text in counter.statements
                       if name.startswith('share-') and name != 'share-lease' and _of_work(text)]
        finally:
            sa.event.remove(engine, 'before_cursor_execute', counter.saw)
        self.assertEqual(['active'] * count, [server.status for server in self.servers(network)])
        return request, workers

    def must_be_within_budget(self, change):
        costs = {count: self.cost(count, change) for count in SERVERS}
        for count, (request, workers) in costs.items():
            self.assertLessEqual(len(request), REQUEST + REQUEST_EACH * count, request)
            self.assertLessEqual(len(workers), WORKER_EACH * count, workers)
        requests = [len(costs[count][0]) for count in SERVERS]
        each = requests[1] - requests[0]
        self.assertEqual([requests[0] + each * (count - 1) for count in SERVERS], requests,
                         'one server more does not always cost the same')

    def test_statements_to_add_a_subnet_are_within_budget(self):
        self.must_be_within_budget(lambda network: self.user.ok('POST', f'/share-networks/{network}/subnets', {
            'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}}))

    def test_statements_to_add_a_security_service_are_within_budget(self):
        service = self.user.ok('POST', '/security-services', {'security_service': {'type': 'ldap'}})['security_service']['id']
        self.must_be_within_budget(lambda network: self.user.ok('POST', f'/share-networks/{network}/action', {
            'add_security_service': {'security_service_id': service}}))


def _a_look(text):
    return text.startswith(('SELECT', 'WITH')) and 'FROM operations' in text


def _of_work(text):
    return not _a_look(text) and not re.search(r'\b(services|leases|pools)\b', text)
