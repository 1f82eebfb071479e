# SPDX-License-Identifier: Apache-2.0
"""Odd ends of migrations: a destination that is dead, an unknown server, task states that were reset by hand."""

from oslo_utils import timeutils, uuidutils

from manila_lite.cmd.manage import migration
from manila_lite.db import models
from manila_lite.db.queries import operations
from manila_lite.states import Migration
from manila_lite.tests.functional import manage, served

_DHSS = 'driver_handles_share_servers = true\nbackend_availability_zone = {}\n'
_FAST = 'server_migration_driver_continue_update_interval = 0.1\nmigration_driver_continue_update_interval = 0.1\n'


class Ends(served.ServedTest, manage.ManageTest):
    """A share server and a share, each of which can move to another backend."""

    BACKENDS = {
        'alpha': _DHSS.format('here'),
        'beta': _DHSS.format('there') + _FAST,
        'gamma': 'backend_availability_zone = here\n',
        'delta': 'backend_availability_zone = there\n' + _FAST,
    }

    def server(self):
        """Make a share server; return its path below /v2, its id and the backend that it can move to."""
        network = self.network()
        self.share(network, availability_zone='here')
        [row] = self.servers(network)
        return f'/share-servers/{row.id}', 'share_server', row.id, 'test@beta'

    def alone(self):
        """Make a share; return as ``server`` does."""
        share = self.user.share(availability_zone='here')['id']
        return f'/shares/{share}', 'share', share, 'test@delta'

    def act(self, path, action, body=None, caller=None):
        status, document, _ = (caller or self.admin).call('POST', f'{path}/action', {action: body})
        return status, next(iter(document.values())) if status >= 400 else document

    def start(self, path, key, to):
        """Begin to move it, and wait until the copy is ready."""
        more = {'preserve_metadata': True} if key == 'share' else {}
        self.assertEqual(
            202,
            self.act(
                path,
                'migration_start',
                {'host': to, 'writable': True, 'nondisruptive': False, 'preserve_snapshots': True, **more},
            )[0],
        )
        self.admin.wait(path, key, 'migration_driver_phase1_done', field='task_state')

    def down(self, host):
        """Let the service be down until the test ends: its process died, and the database knows it."""
        manager = self.service.managers[host.partition('@')[2]]
        manager.stop()
        now = timeutils.utcnow()
        table = models.services
        with self.service.services.db.writer() as conn:
            conn.execute(
                table.update()
                .where(table.c.host == host)
                .values(heartbeat_at=now.replace(year=now.year - 1), stopped=False)
            )
        self.addCleanup(self.up, host)

    def up(self, host):
        name = host.partition('@')[2]
        self.service.managers[name] = type(self.service.managers[name])(self.service.services, name)
        self.service.managers[name].start()

    def test_49_12_completion_with_a_dead_destination_is_refused_and_the_hint_works(self):
        for path, key, resource_id, to in (self.server(), self.alone()):
            self.start(path, key, to)
            self.down(to)
            status, fault = self.act(path, 'migration_complete')
            self.assertEqual((409, 'destination_down'), (status, fault['reason']), fault)
            self.assertIn(f'{to}, its destination, is down', fault['message'])
            self.assertIn('manila-manage migration cancel --force', fault['next'])
            self.assertEqual('migration_driver_phase1_done', self.admin.ok('GET', path)[key]['task_state'])
            self.manage('migration', 'cancel', '--force', resource_id)
            shown = self.admin.ok('GET', path)[key]
            self.assertEqual('migration_cancelled', shown['task_state'])
            self.assertIn(shown['status'], ('active', 'available'))

    def test_49_12_progress_of_what_is_not_there_says_so_and_of_what_stays_400(self):
        # The published tests want 400 of a server that is not there.
        for (path, key, _, _), expected in ((self.server(), 400), (self.alone(), 404)):
            unknown = path.rpartition('/')[0] + '/' + uuidutils.generate_uuid()
            status, fault = self.act(unknown, 'migration_get_progress')
            self.assertEqual((expected, f'{key}_not_found'), (status, fault['reason']), fault)
            status, fault = self.act(path, 'migration_get_progress')
            self.assertEqual((400, 'not_migrating'), (status, fault['reason']), key)

    def hint_is_true(self, fault, path, key):
        """Check that the hint does not lead to a call that is refused as well."""
        self.assertNotIn('migration show', fault['next'])
        if 'task state' in fault['next']:
            self.assertIn('task_state', self.admin.ok('GET', path)[key])

    def test_49_12_after_a_reset_of_the_task_state_no_hint_leads_to_a_refused_call(self):
        for path, key, _, to in (self.server(), self.alone()):
            for value in (None, Migration.SUCCESS, Migration.ERROR):
                self.start(path, key, to)
                self.assertEqual(202, self.act(path, 'reset_task_state', {'task_state': value})[0])
                for action in ('migration_cancel', 'migration_complete'):
                    status, fault = self.act(path, action)
                    self.assertEqual((400, 'not_migrating'), (status, fault['reason']), fault)
                    self.hint_is_true(fault, path, key)
                self.admin.wait(path, key, {'active', 'available'})
            # Nor do states of a migration that is not there.
            for value in (Migration.COPIED, Migration.COPYING):
                self.act(path, 'reset_task_state', {'task_state': value})
                for action in ('migration_cancel', 'migration_complete'):
                    self.assertEqual(400, self.act(path, action)[0], (value, action))
                self.assertEqual(value, self.admin.ok('GET', path)[key]['task_state'])
            self.act(path, 'reset_task_state', {'task_state': None})

    def test_49_12_the_task_state_after_a_failed_cut_over_stays_until_it_is_repeated(self):
        for (path, key, _, to), fault in (
            (self.server(), 'share_server_migration_complete:fail_final'),
            (self.alone(), 'share_migration_complete:fail_final'),
        ):
            self.start(path, key, to)
            backend = to.partition('@')[2]
            self.fault(fault, backend)
            self.assertLess(self.act(path, 'migration_complete')[0], 300)
            self.admin.wait(path, key, 'error')
            for value in (None, Migration.CANCELLED, Migration.COPIED):
                status, refusal = self.act(path, 'reset_task_state', {'task_state': value})
                self.assertEqual((409, 'cut_over_failed'), (status, refusal['reason']), (key, value))
            self.service.knob(backend, '')
            self.assertLess(self.act(path, 'migration_complete')[0], 300)
            if key == 'share':
                self.admin.wait(path, key, 'available')
            else:
                self.admin.wait(path, key, 'gone')

    def test_49_12_watch_gives_no_advice_that_is_refused(self):
        path, key, resource_id, to = self.alone()
        self.start(path, key, to)
        self.down(to)
        self.act(path, 'reset_task_state', {'task_state': None})
        with self.service.services.db.reader() as conn:
            [op] = operations.list_of_resource(conn, resource_id, 'share.migrate')
        hint = migration.progress(op, None).hint
        self.assertNotIn('complete', hint)
        self.assertIn('It ends when its destination is up', hint)

    def test_49_12_an_empty_pool_is_refused(self):
        status, document, _ = self.admin.call('POST', '/services/ensure', {'host': 'test@gamma#'})
        self.assertEqual(400, status, document)
        self.assertIn('host: test@gamma# names no pool after the #', document['badRequest']['message'])
        status, document, _ = self.admin.call(
            'POST',
            '/services/evacuate',
            {'host': 'test@gamma', 'destinations': ['test@delta#'], 'dry_run': True},
        )
        self.assertEqual(400, status, document)
        self.assertIn('destinations: test@delta# names no pool', document['badRequest']['message'])
        self.assertIn('names no pool', self.manage('ensure', 'start', 'test@gamma#', status=1)[1])
