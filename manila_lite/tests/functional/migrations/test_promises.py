# SPDX-License-Identifier: Apache-2.0
"""Capacity promised to share servers that migrate: it stays promised until the migration ends, over any number of reports."""

import concurrent.futures
import datetime

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import doctor
from manila_lite.db import models
from manila_lite.tests.functional import base, served

_BACKEND = (
    'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
    'dummy_pool_size_gb = {}\n'
)
_POOL = 'test@small#pool1'
_LONG_AGO = datetime.datetime.fromisoformat('2020-01-01')
_HELD = 'share_server_migration_start:hang'


class Promises(served.ServedTest):
    """Share servers on ``large``, each with one share of 2 GiB, move to ``small``, whose pool has 3 GiB."""

    BACKENDS = {'large': _BACKEND.format(1000), 'small': _BACKEND.format(3)}
    EXTRA = '[quota]\nshare_networks = -1\n[api]\nwaiters = 7\nwaiters_per_project = 7\n'

    def setUp(self):
        super().setUp()
        self.user = self.caller(uuidutils.generate_uuid(), roles='admin,member,reader')
        self.report()

    def report(self):
        self.service.managers['small']._report()

    def server(self):
        """Make a share on a share server of its own; return the ids of both."""
        network = self.network()
        share = self.share(network, size=2, scheduler_hints={'only_host': 'test@large#pool1'})
        [server] = self.servers(network)
        return server.id, share['id']

    def tell(self, server_id, action, body=None):
        return self.admin.call('POST', f'/share-servers/{server_id}/action', {action: body})[:2]

    def start(self, server_id):
        return self.tell(
            server_id,
            'migration_start',
            {'host': 'test@small', 'writable': True, 'nondisruptive': False, 'preserve_snapshots': True},
        )

    def task_is(self, server_id, state):
        base.eventually(
            lambda: (
                self.admin.ok('GET', f'/share-servers/{server_id}')['share_server']['task_state'] == state
            ),
            f'not {state}',
        )

    def called(self, server_id):
        """Wait until the backend is asked to start the copy of the server, which hangs."""
        target = self.target(server_id)
        base.eventually(
            lambda: target in self.calls('share_server_migration_start', 'small'), 'the copy does not start'
        )

    def target(self, server_id):
        return self.tell(server_id, 'migration_get_progress')[1]['destination_share_server_id']

    def promised(self):
        """Return the claimed and the provisioned GiB of the pool."""
        with self.service.services.db.reader() as conn:
            return tuple(
                conn.execute(
                    sa.select(models.pools.c.claimed_gb, models.pools.c.provisioned_gb).where(
                        models.pools.c.host == _POOL
                    )
                ).one()
            )

    def reported(self):
        """Have the backend report; return as ``promised``."""
        self.report()
        return self.promised()

    def test_second_server_is_refused_after_a_report(self):
        first, second = self.server()[0], self.server()[0]
        self.fault(_HELD, 'small')
        self.assertEqual(202, self.start(first)[0])
        self.called(first)
        for _ in range(2):
            self.report()
            self.assertEqual((2, 0), self.promised())
            status, document = self.start(second)
            self.assertEqual((409, True), (status, 'CapacityFilter' in str(document)), document)
        self.service.knob('small', '')
        self.task_is(first, 'migration_driver_phase1_done')
        # Its task state is seen before the operation has left the step of the copy, until which the promise stays.
        base.eventually(lambda: self.reported() == (0, 2), 'the backend has no copy in its figures')
        self.assertEqual(409, self.start(second)[0])
        self.tell(first, 'migration_cancel')
        self.task_is(first, 'migration_cancelled')
        self.report()
        self.assertEqual((0, 0), self.promised())
        self.assertEqual(202, self.start(second)[0])
        self.task_is(second, 'migration_driver_phase1_done')
        self.tell(second, 'migration_cancel')
        self.task_is(second, 'migration_cancelled')

    def test_share_is_not_created_in_capacity_that_is_promised_to_a_server(self):
        server, _ = self.server()
        self.fault(_HELD, 'small')
        self.start(server)
        self.called(server)
        self.report()
        share = self.share(self.network(), size=2, wait='error', scheduler_hints={'only_host': _POOL})
        self.assertIn('CapacityFilter', str(self.messages(share['id'])))
        self.service.knob('small', '')
        self.task_is(server, 'migration_driver_phase1_done')
        self.tell(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')

    def test_copy_keeps_its_capacity_after_a_failed_cut_over_until_the_server_has_moved(self):
        server, share = self.server()
        self.fault('share_server_migration_complete:fail_final', 'small')
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        self.tell(server, 'migration_complete')
        self.task_is(server, 'migration_error')
        self.report()
        self.assertEqual((0, 2), self.promised())
        self.service.knob('small', '')
        self.tell(server, 'migration_complete')
        self.user.wait(f'/shares/{share}', 'share', 'available')
        self.report()
        self.assertEqual((0, 2), self.promised())
        self.user.ok('DELETE', f'/shares/{share}')
        self.report()
        self.assertEqual((0, 0), self.promised())

    def test_doctor_knows_that_a_migration_has_promises(self):
        server, _ = self.server()
        self.fault(_HELD, 'small')
        self.start(server)
        self.called(server)
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.pools.update().where(models.pools.c.host == _POOL).values(reported_at=_LONG_AGO)
            )
        found = [
            finding
            for finding in doctor.list_findings(self.service.services)
            if finding.what == 'pool' and 'claimed' in finding.state
        ]
        self.assertEqual([], found)
        self.service.knob('small', '')
        self.task_is(server, 'migration_driver_phase1_done')
        self.tell(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')

    def test_concurrent_migrations_never_get_more_than_the_pool_has(self):
        servers = [self.server()[0] for _ in range(4)]
        self.fault(_HELD, 'small')
        with concurrent.futures.ThreadPoolExecutor(5) as threads:
            answers = [threads.submit(self.start, server) for server in servers]
            reports = threads.submit(lambda: [self.report() for _ in range(10)])
            statuses = [answer.result()[0] for answer in answers]
            reports.result()
        self.assertIn(202, statuses)
        self.assertEqual(set(), set(statuses) - {202, 409})
        started = [server for server, status in zip(servers, statuses, strict=True) if status == 202]

        def decided():
            shown = [self.admin.ok('GET', f'/share-servers/{server}')['share_server'] for server in started]
            return sum(row['task_state'] == 'migration_error' for row in shown) == len(started) - 1

        base.eventually(decided, 'two servers were promised the capacity of one')
        self.report()
        self.assertEqual((2, 0), self.promised())
        self.service.knob('small', '')
        [winner] = [
            server
            for server in started
            if self.admin.ok('GET', f'/share-servers/{server}')['share_server']['task_state']
            != 'migration_error'
        ]
        self.task_is(winner, 'migration_driver_phase1_done')
        self.tell(winner, 'migration_cancel')
        self.task_is(winner, 'migration_cancelled')

    def test_concurrent_migrations_and_new_shares_never_get_more_than_the_pool_has(self):
        servers, networks = [self.server()[0] for _ in range(3)], [self.network() for _ in range(3)]
        self.fault(_HELD, 'small')

        def create(network):
            return self.share(network, size=2, wait=None, scheduler_hints={'only_host': _POOL})['id']

        with concurrent.futures.ThreadPoolExecutor(7) as threads:
            reports = threads.submit(lambda: [self.report() for _ in range(10)])
            answers = [threads.submit(self.start, server) for server in servers]
            shares = [made.result() for made in [threads.submit(create, network) for network in networks]]
            started = [
                server for server, answer in zip(servers, answers, strict=True) if answer.result()[0] == 202
            ]
            reports.result()

        def winners():
            """Return how many shares are available and how many servers are being copied, or None as long as more may be."""
            made = [self.user.ok('GET', f'/shares/{share}')['share']['status'] for share in shares]
            moved = [
                self.admin.ok('GET', f'/share-servers/{server}')['share_server']['task_state']
                for server in started
            ]
            waits = {'creating', 'migration_starting', 'migration_in_progress'} & {*made, *moved}
            return None if waits else made.count('available') + moved.count('migration_driver_starting')

        base.eventually(lambda: winners() is not None, 'some are not decided')
        self.assertEqual(1, winners())
        self.report()
        self.assertEqual(2, sum(self.promised()))
        self.service.knob('small', '')
        for share in shares:
            self.user.ok('DELETE', f'/shares/{share}')
        for server in started:
            if (
                self.admin.ok('GET', f'/share-servers/{server}')['share_server']['task_state']
                != 'migration_error'
            ):
                self.task_is(server, 'migration_driver_phase1_done')
                self.tell(server, 'migration_cancel')
                self.task_is(server, 'migration_cancelled')
