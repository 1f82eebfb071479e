# SPDX-License-Identifier: Apache-2.0
"""Evacuation of a backend: everything on it moves elsewhere, a few at a time, and what cannot move says why."""

import contextlib
import time
import types

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite.db import models
from manila_lite.db.queries import evacuation as queries
from manila_lite.db.queries import operations
from manila_lite.operation_data.evacuation import Evacuate, Figures, Moving
from manila_lite.scheduler import evacuation
from manila_lite.tests.factories import shares as share_rows
from manila_lite.tests.functional import base, served
from manila_lite.tests.functional.api.test_budgets import counting

_SERVED = (
    'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
    'dummy_pool_size_gb = {}\nbackend_availability_zone = {}\n'
)
_PLAIN = (
    'driver_handles_share_servers = false\nmigration_driver_continue_update_interval = 0.1\n'
    'dummy_pool_size_gb = {}\nbackend_availability_zone = {}\n'
)


class EvacuationTest(served.ServedTest):
    """``old`` and ``disk`` are evacuated: one with share servers, one without. ``new`` and ``other`` can take what they hold;
    ``far`` too, in another zone.
    """

    BACKENDS = {
        'old': _SERVED.format(1000, 'here'),
        'new': _SERVED.format(1000, 'here'),
        'disk': _PLAIN.format(1000, 'here') + 'dummy_replication_domain = d\n',
        'other': _PLAIN.format(6, 'here'),
        'far': _PLAIN.format(5, 'there'),
    }
    EXTRA = '[quota]\nshare_networks = -1\n[api]\nwaiters = 7\nwaiters_per_project = 7\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, more in (
            ('plain', {}),
            ('copied', {'replication_type': 'readable'}),
            ('kept', {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'}),
        ):
            cls.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {'driver_handles_share_servers': 'False', **more},
                    }
                },
            )

    def setUp(self):
        super().setUp()
        self.user = self.caller(uuidutils.generate_uuid(), roles='admin,member,reader')
        self.addCleanup(self.clear)

    def clear(self):
        for name in self.BACKENDS:
            self.service.knob(name, '')
            self.admin.ok('PUT', '/services/enable', {'host': f'test@{name}', 'binary': 'manila-share'})
        self.admin.call('POST', '/services/stop-evacuation', {'host': 'test@old'})
        self.admin.call('POST', '/services/stop-evacuation', {'host': 'test@disk'})
        base.eventually(self.nothing_moves, 'migrations do not end')
        for kind, key in (('snapshots', 'snapshots'), ('shares', 'shares')):
            for row in self.user.ok('GET', f'/{kind}')[key]:
                self.user.ok('DELETE', f'/{kind}/{row["id"]}')
                self.user.wait(f'/{kind}/{row["id"]}', key[:-1], 'gone')
        for name in self.service.managers:
            self.service.managers[name]._report()

    def nothing_moves(self):
        return not [
            row
            for row in self.admin.ok('GET', '/operations?state=open&all_tenants=1')['operations']
            if row['kind'].endswith('.migrate')
        ]

    def on_server(self, backend='old', **more):
        """Make a share on a share server of its own; return the share."""
        return self.user.share(
            **{
                'share_type': 'kept',
                'share_network_id': self.network(),
                'scheduler_hints': {'only_host': f'test@{backend}#pool1'},
                **more,
            }
        )

    def plain(self, backend='disk', **more):
        """Make a share without share server."""
        return self.user.share(
            **{'share_type': 'plain', 'scheduler_hints': {'only_host': f'test@{backend}#pool1'}, **more}
        )

    def evacuate(self, host, **more):
        """Begin the evacuation; return the id of its operation."""
        status, document, headers = self.admin.call('POST', '/services/evacuate', {'host': host, **more})
        self.assertEqual(202, status, document)
        return headers['Operation-Id']

    def ended(self, operation_id, state='done'):
        """Wait until the operation has ended so; return it."""
        return self.admin.wait(f'/operations/{operation_id}', 'operation', state, field='state')

    def host(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host']

    def disabled(self, backend):
        [row] = self.admin.ok('GET', f'/services?host=test@{backend}')['services']
        return row['status'] == 'disabled', row['disabled_reason']


class Leaving(EvacuationTest):
    """Everything moves."""

    def test_plan_changes_nothing(self):
        share, plain = self.on_server(size=2), self.plain(size=3)
        [server] = self.servers(share['share_network_id'])
        plan = self.ended(self.evacuate('test@old', dry_run=True))['report']['plan']
        self.assertEqual(
            {
                server.id: {
                    'resource_type': 'share_server',
                    'project_id': self.user.token.split(':')[1],
                    'from': 'test@old',
                    'to': 'test@new',
                    'shares': 1,
                    'size': 2,
                    'writable': True,
                    'clients': 'unaffected',
                }
            },
            plan,
        )
        op = self.ended(self.evacuate('test@disk', dry_run=True))
        move = op['report']['plan'][plain['id']]
        self.assertEqual(('test@other', 'mount again'), (move['to'], move['clients']))
        self.assertEqual((1, 1, 100), tuple(op['progress'][key] for key in ('done', 'total', 'percent')))
        self.assertEqual(['test@old#pool1', 'test@disk#pool1'], [self.host(share), self.host(plain)])
        self.assertEqual(((False, None), (False, None)), (self.disabled('old'), self.disabled('disk')))

    def test_share_servers_and_shares_move(self):
        shares = [self.on_server() for _ in range(3)]
        self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]['id']}})
        base.eventually(
            lambda: self.user.ok('GET', '/snapshots/detail?status=available')['snapshots'], 'no snapshot'
        )
        op = self.ended(self.evacuate('test@old', at_once=2))
        self.assertEqual({'test@new#pool1'}, {self.host(share) for share in shares})
        self.assertEqual((3, 3, 100), tuple(op['progress'][key] for key in ('done', 'total', 'percent')), op)
        self.assertEqual(('service.evacuate', 'service'), (op['kind'], op['resource_type']))
        self.assertEqual((True, 'evacuated'), self.disabled('old'))
        plain = [self.plain() for _ in range(2)]
        self.ended(self.evacuate('test@disk'))
        self.assertEqual({'test@other#pool1'}, {self.host(share) for share in plain})
        self.assertEqual(
            {'available'}, {row['status'] for row in self.user.ok('GET', '/shares/detail')['shares']}
        )

    def test_empty_servers_are_deleted(self):
        share = self.on_server()
        network = share['share_network_id']
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual(1, len(self.servers(network)))
        self.ended(self.evacuate('test@old'))
        base.eventually(lambda: not self.servers(network), 'the empty server stays')

    def test_reason_why_a_backend_is_disabled_stays(self):
        self.admin.ok(
            'PUT',
            '/services/disable',
            {'host': 'test@old', 'binary': 'manila-share', 'disabled_reason': 'new disks'},
        )
        share = self.on_server('new')
        self.ended(self.evacuate('test@old'))
        self.assertEqual(((True, 'new disks'), 'test@new#pool1'), (self.disabled('old'), self.host(share)))

    def test_no_more_than_allowed_move_at_once(self):
        shares = [self.plain() for _ in range(3)]
        self.fault('share_migration_start:hang', 'other')
        operation_id = self.evacuate('test@disk', at_once=2)
        base.eventually(lambda: len(self.moving(shares)) == 2, 'two do not move')
        with self.service.services.db.reader() as conn:
            row = operations.get(conn, operation_id)
        base.eventually(lambda: self.looked_again(row), 'the evacuation does not look again')
        self.assertEqual(2, len(self.moving(shares)))
        self.assertEqual(
            sorted(self.moving(shares)),
            sorted(self.admin.ok('GET', f'/operations/{operation_id}')['operation']['report']['moving']),
        )
        self.service.knob('other', '')
        self.ended(operation_id)

    def looked_again(self, row):
        with self.service.services.db.reader() as conn:
            return operations.get(conn, row.id).next_run_at > row.next_run_at

    def moving(self, shares):
        every = [self.user.ok('GET', f'/shares/{share["id"]}')['share'] for share in shares]
        return [share['id'] for share in every if share['status'] == 'migrating']


class Staying(EvacuationTest):
    """Something cannot move, and everything else does."""

    def test_reasons_are_told(self):
        moves, copied = self.plain(), self.plain(share_type='copied')
        broken = self.plain()
        self.admin.ok('POST', f'/shares/{broken["id"]}/action', {'reset_status': {'status': 'error'}})
        op = self.ended(self.evacuate('test@disk'), 'failed')
        self.assertIn('2 of 3 share servers and shares stay on test@disk. The first reason: ', op['error'])
        self.assertEqual({copied['id'], broken['id']}, set(op['report']['left']))
        self.assertIn('has a share type with replicas', op['report']['left'][copied['id']])
        self.assertIn(f'Share {broken["id"]} is error', op['report']['left'][broken['id']])
        self.assertEqual('test@other#pool1', self.host(moves))

    def test_failed_migration_leaves_the_share_as_it_was(self):
        share = self.plain()
        self.fault('share_migration_continue:fail_final', 'other')
        op = self.ended(self.evacuate('test@disk'), 'failed')
        self.assertIn('Its migration failed: ', op['report']['left'][share['id']])
        self.assertEqual(
            ('test@disk#pool1', 'available'),
            (self.host(share), self.user.ok('GET', f'/shares/{share["id"]}')['share']['status']),
        )
        told = self.user.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertEqual(1, len(told), 'its owner is told')

    def test_refusal_of_the_backend_is_told(self):
        share = self.plain()
        self.fault('share_migration_check_compatibility:fail_final', 'other')
        op = self.ended(self.evacuate('test@disk', dry_run=True))
        self.assertIn('cannot move to test@other', op['report']['left'][share['id']])

    def test_plan_counts_the_room_that_it_gave_away(self):
        shares = [self.plain(size=4), self.plain(size=4)]
        report = self.ended(self.evacuate('test@disk', dry_run=True))['report']
        self.assertEqual((1, 1), (len(report['plan']), len(report['left'])))
        self.assertIn('CapacityFilter', *report['left'].values())
        both = self.ended(self.evacuate('test@disk', dry_run=True, any_zone=True))['report']
        self.assertEqual(
            ({'test@other', 'test@far'}, {}),
            ({move['to'] for move in both['plan'].values()}, both['left']),
            [share['id'] for share in shares],
        )

    def test_only_named_destinations_are_used(self):
        share = self.plain()
        self.ended(self.evacuate('test@disk', destinations=['test@far']))
        self.assertEqual('test@far#pool1', self.host(share))

    def test_disabled_destination_takes_nothing(self):
        share = self.plain()
        self.admin.ok('PUT', '/services/disable', {'host': 'test@other', 'binary': 'manila-share'})
        base.eventually(
            lambda: share['id'] in self.ended(self.evacuate('test@disk', dry_run=True))['report']['left'],
            'the destination is used',
        )
        left = self.ended(self.evacuate('test@disk', dry_run=True, destinations=['test@other']))['report'][
            'left'
        ]
        # The scheduler may know of it a second later than the API.
        self.assertRegex(left[share['id']], 'none of test@other is up and enabled|test@other is disabled')

    def test_share_that_somebody_else_moves_is_left_alone(self):
        share = self.plain()
        self.admin.ok(
            'POST',
            f'/shares/{share["id"]}/action',
            {
                'migration_start': {
                    'host': 'test@far#pool1',
                    'writable': False,
                    'nondisruptive': False,
                    'preserve_snapshots': False,
                    'preserve_metadata': False,
                    'force_host_assisted_migration': False,
                }
            },
        )
        op = self.ended(self.evacuate('test@disk'), 'failed')
        self.assertIn('complete or cancel that migration', op['report']['left'][share['id']])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'migration_driver_phase1_done', field='task_state')
        self.admin.ok('POST', f'/shares/{share["id"]}/action', {'migration_cancel': None})
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_host_whose_only_backends_leave_has_nowhere_to_go(self):
        share = self.plain()
        self.addCleanup(self.admin.call, 'POST', '/services/stop-evacuation', {'host': 'test'})
        op = self.ended(self.evacuate('test'), 'failed')
        self.assertIn(share['id'], op['report']['left'])
        self.assertEqual({(True, 'evacuated')}, {self.disabled(name) for name in self.BACKENDS})


class Dead(EvacuationTest):
    """The share manager of the backend that is evacuated is down."""

    BACKENDS = {
        **EvacuationTest.BACKENDS,
        'other': _PLAIN.format(6, 'here') + 'dummy_writable_migration = false\n',
    }

    def clear(self):
        """Leave everything: what is on the dead backend cannot be deleted."""

    def test_share_waits_for_nobody(self):
        """Its rules cannot be made read-only, and no migration is begun that could only wait. A server's copy is writable."""
        share, served_share = self.plain(), self.on_server()
        for backend in ('disk', 'old'):
            self.service.managers[backend].stop()
        for dry_run, state in ((True, 'done'), (False, 'failed')):
            left = self.ended(self.evacuate('test@disk', dry_run=dry_run), state)['report']['left']
            self.assertIn(
                'test@disk#pool1 is down, and has to make access rules read-only', left[share['id']]
            )
        op = self.admin.ok('GET', f'/operations/{self.evacuate("test@old")}')['operation']
        base.eventually(
            lambda: self.host(served_share) == 'test@new#pool1', f'the server does not move: {op}'
        )


class Requests(EvacuationTest):
    """Requests that are refused, and an evacuation that is stopped."""

    def refused(self, status, text, body, caller=None, path='evacuate'):
        got, document, _ = (caller or self.admin).call('POST', f'/services/{path}', body)
        self.assertEqual((status, True), (got, text in str(document)), document)

    def test_refusals(self):
        self.refused(400, 'host: test@old#pool1 is a pool', {'host': 'test@old#pool1'})
        self.refused(404, 'There is no backend nowhere', {'host': 'nowhere'})
        self.refused(404, 'There is no backend tes,', {'host': 'tes'})
        self.refused(
            404, 'There is no backend test@nowhere', {'host': 'test@old', 'destinations': ['test@nowhere']}
        )
        self.refused(
            400,
            'destinations: test@old#pool1 is on test@old',
            {'host': 'test@old', 'destinations': ['test@old#pool1']},
        )
        self.refused(400, 'at_once', {'host': 'test@old', 'at_once': 0})
        self.refused(400, 'at_once', {'host': 'test@old', 'at_once': 101})
        self.refused(400, 'destinations', {'host': 'test@old', 'destinations': 'test@new'})
        self.refused(400, 'dry_run', {'host': 'test@old', 'dry_run': 'perhaps'})
        self.refused(400, 'host', {})
        self.refused(404, 'test@old is not being evacuated', {'host': 'test@old'}, path='stop-evacuation')
        self.assertEqual((False, None), self.disabled('old'))

    def test_members_may_neither_begin_nor_stop(self):
        member = self.caller()
        for path in ('evacuate', 'stop-evacuation'):
            self.refused(403, 'orbidden', {'host': 'test@old'}, member, path)

    def test_one_evacuation_at_a_time_which_can_be_stopped(self):
        shares = [self.plain(), self.plain()]
        self.fault('share_migration_start:hang', 'other')
        operation_id = self.evacuate('test@disk', at_once=1)
        base.eventually(lambda: self.migrating(shares), 'nothing moves')
        self.refused(409, 'test@disk is being evacuated already', {'host': 'test@disk'})
        self.refused(409, 'test@disk is being evacuated already', {'host': 'test@old'})
        self.refused(404, 'test@old is not being evacuated', {'host': 'test@old'}, path='stop-evacuation')
        self.admin.ok('POST', '/services/stop-evacuation', {'host': 'test@disk'})
        self.assertEqual(
            'An administrator stopped the evacuation.', self.ended(operation_id, 'failed')['error']
        )
        self.service.knob('other', '')
        base.eventually(lambda: not self.migrating(shares), 'the migration that was under way does not end')
        self.assertEqual(['test@disk#pool1', 'test@other#pool1'], sorted(map(self.host, shares)))
        self.assertEqual((True, 'evacuated'), self.disabled('disk'))

    def test_migrations_of_a_stopped_evacuation_belong_to_the_next(self):
        share = self.plain()
        self.fault('share_migration_start:hang', 'other')
        self.evacuate('test@disk')
        base.eventually(lambda: self.migrating([share]), 'nothing moves')
        self.admin.ok('POST', '/services/stop-evacuation', {'host': 'test@disk'})
        operation_id = self.evacuate('test@disk')
        base.eventually(
            lambda: self.admin.ok('GET', f'/operations/{operation_id}')['operation']['report'].get('moving'),
            'it does not see the migration',
        )
        self.service.knob('other', '')
        self.assertEqual({}, self.ended(operation_id)['report']['left'])

    def migrating(self, shares):
        return [
            share
            for share in shares
            if self.user.ok('GET', f'/shares/{share["id"]}')['share']['status'] == 'migrating'
        ]


class Rows(EvacuationTest):
    """What the queries of evacuations find."""

    def test_order_and_sums(self):
        server, plain = self.on_server(size=2), self.plain(size=3)
        [row] = self.servers(server['share_network_id'])
        with self.service.services.db.reader() as conn:
            rows = queries.list_after(conn, 'test', queries.START, 10)
            self.assertEqual(
                [(0, row.id, 2, 1), (1, plain['id'], 3, 1)], [(r.rank, r.id, r.size, r.shares) for r in rows]
            )
            self.assertEqual(
                [plain['id']], [r.id for r in queries.list_after(conn, 'test', (queries.SERVER, row.id), 10)]
            )
            self.assertEqual([], queries.list_after(conn, 'test', (queries.SHARE, plain['id']), 10))
            self.assertEqual((2, 5), queries.count(conn, 'test'))
            self.assertEqual((0, 0), queries.count(conn, 'tes'))
            self.assertEqual(
                {row.id: 'active'}, queries.still_there(conn, 'test@old', queries.SERVER, [row.id])
            )
            self.assertEqual({}, queries.still_there(conn, 'test@new', queries.SERVER, [row.id]))

    def test_progress_counts_what_left_after_the_last_look(self):
        stays, left = self.plain(size=2), self.plain('other', size=3)
        data = Evacuate(
            host='test@disk',
            dry_run=False,
            began=time.time(),
            at_once=4,
            progress=Figures(1, 5.0),
            moving={
                share['id']: Moving(queries.SHARE, 'test@other', share['size'], 50) for share in (stays, left)
            },
        )
        evacuation._measure(types.SimpleNamespace(ctx=self.service.services, data=data))
        self.assertEqual((3, 75), (data.progress.total, data.progress.percent))

    def test_statements_do_not_grow_with_what_is_there(self):
        for _ in range(2):
            self.plain()
        with counting(self.service.services.db.engine) as few, self.service.services.db.reader() as conn:
            queries.list_after(conn, 'test', queries.START, 100)
            queries.count(conn, 'test')
        self.assertEqual(2, len(few.asked()), few.asked())

    def test_replicas_and_copies_are_named(self):
        share = self.plain(share_type='copied')
        with self.service.services.db.writer() as conn:
            kind = conn.execute(
                sa.select(models.share_instances.c.share_type_id).where(
                    models.share_instances.c.share_id == share['id']
                )
            ).scalar()
            ids = {}
            for name, state, status in (
                ('replica', 'in_sync', 'available'),
                ('copy', None, 'error'),
                ('gone', None, 'deleting'),
            ):
                ids[name] = uuidutils.generate_uuid()
                share_rows.instance(
                    conn,
                    share['id'],
                    ids[name],
                    status=status,
                    share_type_id=kind,
                    host='test@old#pool1',
                    is_secondary=True,
                    replica_state=state,
                )
        self.addCleanup(self.forget, ids.values())
        left = self.ended(self.evacuate('test@old'), 'failed')['report']['left']
        self.assertEqual({ids['replica'], ids['copy']}, set(left))
        self.assertIn('create another one elsewhere, then delete it', left[ids['replica']])
        self.assertIn('belongs to a migration', left[ids['copy']])
        self.assertIn('repeat migration_complete if its cut-over failed', left[ids['copy']])

    def forget(self, ids):
        with contextlib.suppress(sa.exc.OperationalError), self.service.services.db.writer() as conn:
            conn.execute(models.share_instances.delete().where(models.share_instances.c.id.in_(tuple(ids))))
