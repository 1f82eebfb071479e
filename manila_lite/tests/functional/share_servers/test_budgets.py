# SPDX-License-Identifier: Apache-2.0
"""SQL statements for a change of share servers in use: a fixed number, and a fixed number for each server."""

import re

import sqlalchemy as sa

from manila_lite.tests.functional import served
from manila_lite.tests.functional.api import test_budgets
from manila_lite.workflow import snapshot_access

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
            request = [text for text in counter.asked() if not _a_look(text)]
            self.settled(network)
            workers = [text for text in counter.worked() if _of_work(text)]
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
        self.assertEqual(
            [requests[0] + each * (count - 1) for count in SERVERS],
            requests,
            'one server more does not always cost the same',
        )

    def test_statements_to_add_a_subnet_are_within_budget(self):
        self.must_be_within_budget(
            lambda network: self.user.ok(
                'POST',
                f'/share-networks/{network}/subnets',
                {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
            )
        )

    def test_statements_to_add_a_security_service_are_within_budget(self):
        service = self.user.ok('POST', '/security-services', {'security_service': {'type': 'ldap'}})[
            'security_service'
        ]['id']
        self.must_be_within_budget(
            lambda network: self.user.ok(
                'POST',
                f'/share-networks/{network}/action',
                {'add_security_service': {'security_service_id': service}},
            )
        )


class Rows(test_budgets.Counter):
    """Counter that counts a list of updates as the database does: one by one."""

    def saw(self, conn, cursor, statement, parameters, context, executemany):
        """Count one statement for each row of a list, except for rows that are inserted together."""
        for _ in parameters if executemany and not statement.startswith('INSERT') else (None,):
            super().saw(conn, cursor, statement)


class Migration(served.ServedTest):
    """A share server with one share moves, with few snapshots or with many."""

    BACKENDS = dict.fromkeys(
        ('alpha', 'beta'),
        'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n',
    )
    EXTRA = '[quota]\nsnapshots = -1\n'

    def server(self, snapshots):
        """Make a server, a share and its snapshots; return the ids of the server and of the share."""
        network = self.network()
        share = self.share(network)
        made = [
            self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']['id']
            for _ in range(snapshots)
        ]
        for snapshot in made:
            self.user.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        [server] = self.servers(network)
        return server, share['id']

    def statements(self, snapshots):
        """Return the statements of the workers for a whole migration with so many snapshots."""
        server, share = self.server(snapshots)
        to = 'test@beta' if server.host == 'test@alpha' else 'test@alpha'
        path = f'/share-servers/{server.id}'
        counter, engine = Rows(), self.service.services.db.engine
        sa.event.listen(engine, 'before_cursor_execute', counter.saw)
        try:
            self.admin.ok(
                'POST',
                f'{path}/action',
                {
                    'migration_start': {
                        'host': to,
                        'writable': True,
                        'nondisruptive': False,
                        'preserve_snapshots': True,
                    }
                },
            )
            self.admin.wait(path, 'share_server', 'migration_driver_phase1_done', field='task_state')
            self.admin.ok('POST', f'{path}/action', {'migration_complete': {}})
            self.user.wait(f'/shares/{share}', 'share', 'available')
            self.admin.wait(path, 'share_server', 'gone')
        finally:
            sa.event.remove(engine, 'before_cursor_execute', counter.saw)
        return [text for text in counter.worked() if _of_work(text)]

    def test_statements_do_not_grow_with_the_number_of_snapshots(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'kept',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'},
                }
            },
        )
        self.share = lambda network: self.user.share(share_type='kept', share_network_id=network)
        few, many = self.statements(2), self.statements(22)
        self.assertLessEqual(len(many), len(few) + 4, many)

    def test_statements_to_serve_mountable_snapshots_do_not_grow_with_their_number(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'mounted',
                    'extra_specs': {
                        'driver_handles_share_servers': 'True',
                        'snapshot_support': 'True',
                        'mount_snapshot_support': 'True',
                    },
                }
            },
        )
        self.share = lambda network: self.user.share(share_type='mounted', share_network_id=network)
        ctx, costs = self.service.context(roles=('admin',)), []
        for snapshots in (2, 12):
            share = self.server(snapshots)[1]
            counter, engine = Rows(), self.service.services.db.engine
            with self.service.services.db.writer() as conn:
                sa.event.listen(engine, 'before_cursor_execute', counter.saw)
                snapshot_access.begin_all(conn, ctx, [share], 'test@alpha', moved=True)
                sa.event.remove(engine, 'before_cursor_execute', counter.saw)
            costs.append(len([text for name, text in counter.statements if name == 'MainThread']))
        self.assertEqual(costs[0], costs[1])


def _a_look(text):
    return text.startswith(('SELECT', 'WITH')) and 'FROM operations' in text


def _of_work(text):
    return not _a_look(text) and not re.search(r'\b(services|leases|pools)\b', text)
