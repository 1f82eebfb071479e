# SPDX-License-Identifier: Apache-2.0
"""Bursts: many requests that wait at the same time share their statements, and a failure of one touches no other."""

import contextlib
import sqlite3

import sqlalchemy as sa
import testtools

from manila_lite.db import models
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.api import test_budgets

COUNT = 48
#: Statements of scheduler and share manager for each share of a burst, at most. For a share alone see test_budgets. How many
#: ends of operations share a statement depends on the order in which the machine runs the threads.
TO_CREATE, TO_DELETE, TO_SNAPSHOT, TO_EXTEND = 7, 8, 8, 9


class BurstTest(base.ServiceTest):
    """One dummy backend. Requests wait until the whole burst is there, first for the scheduler, then for the backend."""

    BACKENDS = {'alpha': 'dummy_pools = one,two\ndummy_pool_size_gb = 500\n'}

    def setUp(self):
        super().setUp()
        self.service.knob('alpha', '')

    @property
    def scheduler(self):
        return self.service.scheduler.worker.runner

    @property
    def manager(self):
        return self.service.managers['alpha'].worker.runner

    @contextlib.contextmanager
    def held(self, runner):
        """Let the runner claim nothing inside the block."""
        runner.may_claim = lambda: False
        try:
            yield
        finally:
            runner.may_claim = lambda: True
            runner.wake()

    def create(self, count=COUNT, **values):
        """Request shares of three projects, in turns; return their ids."""
        body = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'burst', **values}}
        callers = [self.caller(f'project {number}') for number in range(3)]
        return [callers[number % 3].ok('POST', '/shares', body)['share']['id'] for number in range(count)]

    def burst(self, count=12, **values):
        """Let a burst of shares wait for the backend; return their ids."""
        with self.held(self.manager):
            with self.held(self.scheduler):
                made = self.create(count, **values)
            for share in made:
                waiting.until(
                    lambda share=share: self.admin.ok('GET', f'/shares/{share}')['share']['host'],
                    'not placed',
                )
        return made

    def available(self, shares):
        for share in shares:
            self.admin.wait(f'/shares/{share}', 'share', 'available')

    def delete(self, shares):
        for share in shares:
            self.admin.ok('DELETE', f'/shares/{share}', wait=False)

    def gone(self, shares):
        for share in shares:
            self.admin.wait(f'/shares/{share}', 'share', 'gone')

    def remove(self, shares):
        self.delete(shares)
        self.gone(shares)

    def states(self, shares):
        """Return the ids of the shares by status."""
        found = {}
        for share in shares:
            found.setdefault(self.admin.ok('GET', f'/shares/{share}')['share']['status'], []).append(share)
        return found

    @contextlib.contextmanager
    def counting(self, *, claims=True):
        """Yield a list, which has the statements of scheduler and manager for these requests at the end."""
        workers = []
        with test_budgets.counting(self.service.services.db.engine) as counter:
            yield workers
        workers += counter.worked(claims=claims)


class Costs(BurstTest):
    """Statements for each share of a burst."""

    def test_creations_share_their_statements(self):
        self.caller('project 0').share()
        with self.counting() as workers:
            self.available(self.burst(COUNT))
        self.assertLessEqual(len(workers), TO_CREATE * COUNT)

    def test_deletions_share_their_statements(self):
        before = self.kept()
        made = self.burst(COUNT)
        self.available(made)
        with self.counting() as workers:
            with self.held(self.manager):
                self.delete(made)
            self.gone(made)
        self.assertLessEqual(len(workers), TO_DELETE * COUNT)
        self.assertEqual(before, self.kept())

    def snapshots(self, shares):
        """Request a snapshot of each share; return their ids."""
        return [
            self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
            for share in shares
        ]

    def test_snapshots_share_their_statements(self):
        made = self.burst(COUNT)
        self.available(made)
        self.addCleanup(self.remove, made)
        with self.counting() as workers:
            with self.held(self.manager):
                taken = self.snapshots(made)
            for snapshot in taken:
                self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.assertLessEqual(len(workers), TO_SNAPSHOT * COUNT)
        locations = {
            self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['provider_location']
            for snapshot in taken
        }
        self.assertEqual({f'/snapshots/{snapshot}' for snapshot in taken}, locations)
        self.assertTrue(
            all(
                self.admin.ok('GET', f'/snapshots/{snapshot}/export-locations')[
                    'share_snapshot_export_locations'
                ]
                for snapshot in taken
            )
        )
        with self.counting() as workers:
            with self.held(self.manager):
                for snapshot in taken:
                    self.admin.ok('DELETE', f'/snapshots/{snapshot}', wait=False)
            for snapshot in taken:
                self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'gone')
        self.assertLessEqual(len(workers), TO_SNAPSHOT * COUNT)

    def test_extensions_share_their_statements(self):
        made = self.burst(COUNT)
        self.available(made)
        self.addCleanup(self.remove, made)
        with self.counting() as workers:
            with self.held(self.manager), self.held(self.scheduler):
                for number, share in enumerate(made):
                    self.admin.action(share, 'extend', {'new_size': 2 + number % 3})
            self.available(made)
        self.assertLessEqual(len(workers), TO_EXTEND * COUNT)
        sizes = [self.admin.ok('GET', f'/shares/{share}')['share']['size'] for share in made]
        self.assertEqual([2 + number % 3 for number in range(COUNT)], sizes)

    def test_rules_of_one_share_cost_the_same_at_any_number(self):
        [share] = self.burst(1)
        self.available([share])
        requests, syncs = set(), set()
        for first, count in ((1, 10), (11, 990)):
            with self.counting(claims=False) as workers:
                with self.held(self.manager):
                    requests |= {self.request(share, number) for number in range(first, first + count)}
                self.admin.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
            syncs.add(len(workers))
        self.assertEqual(1, len(requests), f'{requests} statements for a request')
        self.assertEqual(1, len(syncs), f'{syncs} statements for 10 and for 990 rules')
        rules = self.admin.ok('GET', f'/share-access-rules?share_id={share}')['access_list']
        self.assertEqual((1000, {'active'}), (len(rules), {rule['state'] for rule in rules}))

    def request(self, share, number):
        """Request one access rule. Return the number of its statements."""
        with test_budgets.counting(self.service.services.db.engine) as counter:
            self.admin.action(
                share,
                'allow_access',
                {'access_type': 'ip', 'access_to': f'10.0.{number // 250}.{number % 250}'},
            )
        return len(counter.asked())

    def kept(self):
        """Return the ids of all shares that the backend has."""
        return {record.id for record in self.service.managers['alpha'].driver.store.shares.all()}


class Capacity(BurstTest):
    """More is asked for than there is."""

    def test_shares_of_a_burst_get_no_more_than_the_pools_have(self):
        with self.held(self.scheduler):
            made = self.create(9, size=120)
        base.eventually(lambda: not self.states(made).keys() - {'available', 'error'}, 'some have no end')
        self.assertEqual([8, 1], [len(self.states(made)[status]) for status in ('available', 'error')])
        self.delete(made)
        self.gone(made)


class Failures(BurstTest):
    """One of many fails."""

    def test_share_that_no_pool_has_room_for_fails_alone(self):
        with self.held(self.scheduler):
            made, [huge] = self.create(6), self.create(1, size=501)
        self.available(made)
        self.admin.wait(f'/shares/{huge}', 'share', 'error')
        told = self.caller('project 0').ok('GET', f'/messages?resource_id={huge}')['messages']
        self.assertIn('CapacityFilter', told[0]['user_message'] if len(told) == 1 else str(told))

    def test_refusal_of_the_backend_for_one_leaves_the_others_alone(self):
        self.service.knob('alpha', 'create_share:fail_final@once')
        self.available(self.burst())  # that one is tried in the other pool

    def test_one_that_hangs_holds_up_no_other(self):
        self.service.knob('alpha', 'create_share:hang@once')
        made = self.burst(8)
        base.eventually(
            lambda: len(self.states(made).get('available', ())) == 7, lambda: f'{self.states(made)}'
        )
        self.assertEqual(1, len(self.states(made)['creating']))
        self.service.knob('alpha', '')
        self.available(made)

    def test_share_that_was_deleted_by_force_meanwhile_touches_no_other(self):
        self.service.knob('alpha', 'create_share:hang')
        made = self.burst(6)
        base.eventually(lambda: self.manager.busy == 6, 'not all are being made')
        table = models.shares
        with self.service.services.db.writer() as conn:
            conn.execute(models.share_instances.delete().where(models.share_instances.c.share_id == made[2]))
            conn.execute(table.delete().where(table.c.id == made[2]))
        self.service.knob('alpha', '')
        self.available([share for share in made if share != made[2]])
        base.eventually(lambda: not self.manager.busy, 'one does not end')

    def test_deletion_that_fails_at_the_backend_touches_no_other(self):
        made = self.burst(6)
        self.available(made)
        self.service.knob('alpha', 'delete_share:fail_final@once')
        with self.held(self.manager):
            self.delete(made)
        base.eventually(lambda: self.left(made) == 1, lambda: f'{self.left(made)} are left')
        [bad] = [share for share in made if self.admin.call('GET', f'/shares/{share}')[0] == 200]
        self.admin.wait(f'/shares/{bad}', 'share', 'error_deleting')
        self.delete([bad])
        self.gone([bad])

    def test_extension_that_does_not_fit_fails_alone(self):
        made = self.burst(6)
        self.available(made)
        self.addCleanup(self.remove, made)
        with self.held(self.scheduler):
            for share in made:
                self.admin.action(share, 'extend', {'new_size': 600 if share == made[4] else 2})
        self.available(made)
        sizes = [self.admin.ok('GET', f'/shares/{share}')['share']['size'] for share in made]
        self.assertEqual([2, 2, 2, 2, 1, 2], sizes)
        told = self.admin.ok('GET', f'/messages?resource_id={made[4]}')['messages']
        self.assertIn('has no room for 599 GiB more', told[0]['user_message'])

    def test_snapshot_that_the_backend_refuses_touches_no_other(self):
        made = self.burst(6)
        self.available(made)
        self.service.knob('alpha', 'create_snapshot:fail_final@once')
        with self.held(self.manager):
            taken = [
                self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
                for share in made
            ]
        base.eventually(
            lambda: sorted(self.ends(taken)) == ['available'] * 5 + ['error'], lambda: f'{self.ends(taken)}'
        )

    def ends(self, taken):
        return [self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'] for snapshot in taken]

    def test_extension_of_a_share_whose_status_was_reset_touches_no_other(self):
        made = self.burst(6)
        self.available(made)
        self.service.knob('alpha', 'extend_share:hang')
        for share in made:
            self.admin.action(share, 'extend', {'new_size': 2})
        base.eventually(lambda: self.manager.busy == 6, 'not all are being extended')
        self.admin.action(made[3], 'reset_status', {'status': 'error'})
        self.service.knob('alpha', '')
        self.available([share for share in made if share != made[3]])
        base.eventually(lambda: not self.manager.busy, 'one does not end')
        self.admin.wait(f'/shares/{made[3]}', 'share', 'error')

    def left(self, shares):
        with self.service.services.db.reader() as conn:
            return conn.execute(sa.select(sa.func.count()).where(models.shares.c.id.in_(shares))).scalar_one()

    def test_share_with_hidden_snapshots_is_kept_and_the_others_are_deleted(self):
        made = self.burst(4)
        self.available(made)
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': made[1]}})['snapshot']['id']
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.snapshots.update()
                .where(models.snapshots.c.id == snapshot)
                .values(deletion_deferred=True, status='deferred_deleting')
            )
        with self.held(self.manager):
            self.delete(made)
        self.gone([share for share in made if share != made[1]])
        self.admin.wait(f'/shares/{made[1]}', 'share', 'error_deleting')


class Deaths(testtools.TestCase):
    """A process of its own, which dies in the midst of a burst."""

    def test_operation_that_ends_the_process_costs_no_other_its_tries(self):
        lite = self.useFixture(process.Lite())
        lite.start()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        waiting.until(lambda: lite.ok('GET', '/scheduler-stats/pools')['pools'], 'no pool')
        lite.knobs('create_share:hang')
        body = {'share': {'size': 1, 'share_proto': 'NFS'}}
        made = [lite.ok('POST', '/shares', body)['share']['id'] for _ in range(6)]
        calls = lite.state / 'alpha' / 'calls'
        waiting.until(lambda: calls.exists() and calls.read_text().count('create_share ') == 6, lite.tail)
        lite.kill()
        lite.knobs('create_share:die@times=2')
        for _ in range(2):
            lite.spawn()
            lite.died()
        lite.start()
        for share in made:
            lite.wait(f'/shares/{share}', 'share', 'available')
        with contextlib.closing(sqlite3.connect(lite.state / 'manila_lite.sqlite')) as conn:
            tries = conn.execute(
                "SELECT attempts FROM operations WHERE kind = 'share.create' ORDER BY attempts"
            ).fetchall()
        self.assertEqual([2, 2, 2, 2, 2, 4], [number for (number,) in tries])
