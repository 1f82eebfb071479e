# SPDX-License-Identifier: Apache-2.0
"""Ensure all shares of a backend on demand: no share keeps a wrong status, whatever happens at the backend meanwhile."""

import dataclasses
import datetime
import json
import threading
import time

import fixtures
from oslo_utils import timeutils

from manila_lite import values
from manila_lite.db import models
from manila_lite.db.queries import messages
from manila_lite.manager.plans import ensure, ensure_results
from manila_lite.manager.runtime import startup
from manila_lite.operation_data.ensure import INTERVAL, RETRY
from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base, manage
from manila_lite.tests.services import hearing

HOST = 'test@alpha'


def _resting(next_reason):
    """Return the function, which says with ``manager.rests`` that its manager repeats no run."""

    def wait(manager, stopping):
        manager.rests = True
        try:
            return next_reason(manager, stopping)
        finally:
            manager.rests = stopping.is_set()

    return wait


class EnsureTest(base.ServiceTest):
    """Base class with a backend, and shortcuts to create and ensure shares."""

    @classmethod
    def setUpClass(cls):
        resting = fixtures.MonkeyPatch(
            'manila_lite.manager.runtime.startup._next_reason', _resting(startup._next_reason)
        )
        cls.addClassCleanup(resting.cleanUp)
        resting.setUp()
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.addCleanup(self._forget)
        self.addCleanup(self.service.knob, 'alpha', '')
        self.idle()

    def _forget(self):
        self.service.knob('alpha', '')
        self.idle()
        for manager in self.service.managers.values():
            manager.failed_run = None  # else it would be repeated in the midst of a later test
        with self.service.services.db.writer() as conn:
            for table in (models.shares, models.messages):
                conn.execute(table.delete())
        # One that still looks for the end of its run would begin another one, if that is gone.
        base.eventually(
            lambda: all(getattr(one, 'rests', False) for one in self.service.managers.values()),
            'a manager repeats a run',
        )
        with self.service.services.db.writer() as conn:
            conn.execute(models.operations.delete())

    def override(self, name, value, group=None):
        self.service.conf.set_override(name, value, group)
        self.addCleanup(self.service.conf.clear_override, name, group)

    def heard(self):
        return self.useFixture(hearing.Heard(self.service.conf))

    def ask(self, host=HOST, **more):
        return self.admin.call('POST', '/services/ensure', {'host': host}, **more)[:2]

    def ensuring(self, host=HOST):
        return self.admin.ok('GET', f'/services?host={host}&binary=manila-share')['services'][0]['ensuring']

    def idle(self, host=HOST):
        base.eventually(lambda: not self.ensuring(host), 'is at it for ever')

    def begin(self, host=HOST):
        """Ask for a run, as soon as no run that the manager began by itself is open. Return the id of its operation."""
        answers = []

        def accepted():
            answers.append(self.admin.call('POST', '/services/ensure', {'host': host}))
            return answers[-1][0] == 202

        base.eventually(accepted, lambda: answers[-1][:2])
        return answers[-1][2]['Operation-Id']

    def ensure(self, host=HOST):
        """Ask for a run and wait for its end. Return its operation."""
        operation_id = self.begin(host)
        self.over(operation_id)
        self.idle(host)
        return self.admin.ok('GET', f'/operations/{operation_id}')['operation']

    def over(self, operation_id):
        """Wait until the run has ended."""
        base.eventually(
            lambda: self.admin.ok('GET', f'/operations/{operation_id}')['operation']['state'] != 'open',
            'it does not end',
        )

    def last(self, host=HOST):
        return self.admin.ok(
            'GET',
            f'/operations?kind=service.ensure&host={host}&sort_key=created_at&sort_dir=desc&all_tenants=1',
        )['operations'][0]

    def shares(self, count):
        return [self.admin.share()['id'] for _ in range(count)]

    def instance(self, share_id):
        return self.admin.ok('GET', f'/shares/{share_id}/instances')['share_instances'][0]['id']

    def statuses(self, idents):
        return [self.admin.ok('GET', f'/shares/{share_id}')['share']['status'] for share_id in idents]

    def told(self, share_id):
        found = self.admin.ok('GET', f'/messages?resource_id={share_id}')['messages']
        return [(one['detail_id'], one['user_message']) for one in found]

    def reached(self, resource_id):
        """Wait until the backend is ensuring the share."""
        base.eventually(lambda: self.statuses([resource_id]) == ['ensuring'], 'is not being ensured')

    def small_batches(self, size=1):
        self.addCleanup(setattr, ensure, 'BATCH', ensure.BATCH)
        ensure.BATCH = size

    @property
    def driver(self):
        return self.service.managers['alpha'].driver


class Quiet(EnsureTest):
    """Base class of tests in which no run begins by itself, also after a run that failed."""

    @classmethod
    def setUpClass(cls):
        longer = fixtures.MonkeyPatch('manila_lite.manager.runtime.startup._WATCH', 600.0)
        cls.addClassCleanup(longer.cleanUp)
        longer.setUp()
        super().setUpClass()


class Asked(Quiet):
    """Requests to ensure a backend."""

    def test_backend_that_is_down_is_refused(self):
        services = models.services
        before = timeutils.utcnow() - datetime.timedelta(seconds=3600)
        with self.service.services.db.writer() as conn:
            conn.execute(
                services.insert().values(host='test@gone', binary='manila-share', heartbeat_at=before)
            )
        self.addCleanup(self._without, 'test@gone')
        status, document = self.ask('test@gone')
        self.assertEqual((409, 'service_down'), (status, document['conflictingRequest']['reason']))
        self.assertFalse(self.ensuring('test@gone'))

    def _without(self, host):
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.delete().where(models.services.c.host == host))

    def test_disabled_backend_is_refused(self):
        which = {'host': HOST, 'binary': 'manila-share'}
        self.admin.ok('PUT', '/services/disable', which)
        self.addCleanup(self.admin.ok, 'PUT', '/services/enable', which)
        status, document = self.ask()
        self.assertEqual((409, 'service_disabled'), (status, document['conflictingRequest']['reason']))

    def test_second_request_during_a_run_is_refused(self):
        [resource_id] = self.shares(1)
        self.service.knob('alpha', 'ensure_shares:hang')
        self.assertEqual(202, self.ask()[0])
        self.reached(resource_id)
        self.assertTrue(self.ensuring())
        self.assertEqual(
            [HOST], [row['host'] for row in self.admin.ok('GET', '/services?ensuring=true')['services']]
        )
        self.assertEqual(0, len(self.admin.ok('GET', f'/services?ensuring=false&host={HOST}')['services']))
        status, document = self.ask()
        self.assertEqual((409, 'already_ensuring'), (status, document['conflictingRequest']['reason']))
        [scheduler] = self.admin.ok('GET', '/services?binary=manila-scheduler')['services']
        self.assertFalse(scheduler['ensuring'])
        self.service.knob('alpha', '')
        self.idle()
        self.assertEqual(['available'], self.statuses([resource_id]))

    def test_strict_mode_refuses_if_a_share_is_not_available(self):
        [resource_id, _] = self.shares(2)
        self.override('ensure_shares_strict', True)
        self.assertEqual('done', self.ensure()['state'])
        self.admin.action(resource_id, 'reset_status', {'status': 'error'})
        base.eventually(
            lambda: self.ask()[1]['conflictingRequest']['reason'] == 'shares_not_available',
            'it is not refused',
        )
        self.assertFalse(self.ensuring())


class Run(Quiet):
    """Results for the shares, with correct and faulty answers of the backend."""

    def test_lost_exports_and_access_rules_are_restored(self):
        heard = self.heard()
        idents = self.shares(2)
        self.admin.action(idents[0], 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1'})
        self.admin.wait(f'/shares/{idents[0]}', 'share', 'active', field='access_rules_status')
        lose_exports(self.driver)
        found = self.ensure()
        self.assertEqual(
            ('done', 2, 2), (found['state'], found['progress']['done'], found['progress']['total'])
        )
        records = [self.driver.store.share(self.instance(instance_id)) for instance_id in idents]
        self.assertEqual([True, True], [record.exported for record in records])
        self.assertEqual(['10.0.0.1'], [rule[1] for rule in records[0].rules.values()])
        self.assertEqual(['available'] * 2, self.statuses(idents))
        self.assertEqual([[], []], [self.told(instance_id) for instance_id in idents])
        began = heard.wait('share.ensure.start', request_id=found['request_id'])
        ended = heard.wait('share.ensure.end', request_id=found['request_id'])
        self.assertEqual((HOST, 2), (began['payload']['host'], began['payload']['total']))
        self.assertEqual(
            (HOST, 2, 2, 0), tuple(ended['payload'][name] for name in ('host', 'done', 'repaired', 'failed'))
        )
        self.assertEqual(set(idents), set(ended['payload']['repairs']))

    def test_unchanged_export_locations_are_not_counted_as_updated(self):
        heard = self.heard()
        self.shares(1)
        found = self.ensure()
        told = heard.wait('share.ensure.end', request_id=found['request_id'])['payload']
        self.assertEqual((1, 0), (told['done'], told['updated']))

    def test_newly_configured_export_addresses_are_stored(self):
        [share_id] = self.shares(1)
        self.override('dummy_export_ips', ['10.9.9.9'], 'alpha')
        self.ensure()
        locations = self.admin.ok('GET', f'/shares/{share_id}/export_locations')['export_locations']
        self.assertEqual(
            ['10.9.9.9'], [one['path'].partition(':')[0] for one in locations if not one['is_admin_only']]
        )

    def test_failing_backend_fails_the_run_and_keeps_share_statuses(self):
        heard = self.heard()
        idents = self.shares(3)
        self.service.knob('alpha', 'ensure_shares:fail_final')
        found = self.ensure()
        self.assertEqual('failed', found['state'])
        self.assertEqual(['available'] * 3, self.statuses(idents))
        for resource_id in idents:
            [(detail, text)] = self.told(resource_id)
            self.assertEqual(messages.Detail.NOT_ENSURED.value[0], detail)
            self.assertIn('ensure_shares cannot be done', text)
        ended = heard.wait('share.ensure.error', request_id=found['request_id'])
        self.assertEqual(
            ('ERROR', HOST, 3), (ended['priority'], ended['payload']['host'], ended['payload']['failed'])
        )
        self.assertIn('3 shares could not be ensured', ended['payload']['error'])

    def test_technical_error_text_is_kept_out_of_messages(self):
        [resource_id] = self.shares(1)
        self.service.knob('alpha', 'ensure_shares:fail')
        self.assertEqual('failed', self.ensure()['state'])
        self.assertNotIn('lost touch', self.told(resource_id)[0][1])

    def test_single_backend_failure_is_retried_successfully(self):
        idents = self.shares(3)
        self.service.knob('alpha', 'ensure_shares:fail@once')
        self.assertEqual('done', self.ensure()['state'])
        self.assertEqual((['available'] * 3, []), (self.statuses(idents), self.told(idents[0])))

    def test_failing_backend_is_called_max_attempts_times(self):
        self.override('max_attempts', 2, 'operations')
        [instance_id] = self.shares(1)
        before = len(self.driver.store.calls('ensure_shares'))
        self.service.knob('alpha', 'ensure_shares:fail')
        self.assertEqual('failed', self.ensure()['state'])
        self.assertEqual(
            [self.instance(instance_id)] * 2,
            [ids for _, ids in self.driver.store.calls('ensure_shares')[before:]],
        )

    def test_partial_answer_is_completed_by_a_retry(self):
        idents = self.shares(4)
        self.service.knob('alpha', 'ensure_shares:partial@once')
        found = self.ensure()
        self.assertEqual(('done', 4), (found['state'], found['progress']['done']))
        self.assertEqual(['available'] * 4, self.statuses(idents))

    def test_run_with_only_partial_answers_fails_and_reports_missing_shares(self):
        idents = self.shares(4)
        self.service.knob('alpha', 'ensure_shares:partial')
        self.assertEqual('failed', self.ensure()['state'])
        self.assertEqual(['available'] * 4, self.statuses(idents))
        told = [self.told(resource_id) for resource_id in idents]
        self.assertEqual(2, sum(bool(one) for one in told))
        self.assertIn('did not report', str(told))

    def test_broken_share_is_in_error_with_a_message(self):
        heard = self.heard()
        lost, well = self.shares(2)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(lost))
        found = self.ensure()
        self.assertEqual(('done', ['error', 'available']), (found['state'], self.statuses([lost, well])))
        [(detail, text)] = set(self.told(lost))  # a repeated run of the test before may have told it, too
        self.assertEqual(messages.Detail.SHARE_BROKEN.value[0], detail)
        self.assertIn('data of the share is missing', text)
        self.assertEqual([], self.told(well))
        self.assertEqual(
            1, heard.wait('share.ensure.end', request_id=found['request_id'])['payload']['broken']
        )

    def test_the_log_says_which_shares_are_broken_or_got_no_answer(self):
        log = self.useFixture(fixtures.FakeLogger(ensure_results.LOG.logger.name))
        lost, silent = sorted(self.shares(2), key=self.instance)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(lost))
        ask = self.driver.ensure_shares
        self.patch(
            self.driver,
            'ensure_shares',
            lambda targets: {
                resource_id: result
                for resource_id, result in ask(targets).items()
                if resource_id != self.instance(silent)
            },
        )
        self.ensure()
        self.assertIn(f'{lost}: is broken: ', log.output)
        self.assertIn(f'{silent}: was not ensured: The backend did not report on it.', log.output)

    def test_notifications_name_the_repairs_of_a_limited_number_of_shares(self):
        heard = self.heard()
        self.patch(ensure_results, '_REPAIRS', 2)
        self.small_batches()
        self.shares(4)
        lose_exports(self.driver)
        found = self.ensure()
        ended = heard.wait('share.ensure.end', request_id=found['request_id'])['payload']
        self.assertEqual((4, 2), (ended['repaired'], len(ended['repairs'])))

    def test_remaining_time_is_estimated_from_the_time_per_share(self):
        self.small_batches(1)
        self.shares(3)
        seen, ask, table = [], self.driver.ensure_shares, models.operations

        def look(targets):
            with self.service.services.db.reader() as conn:
                [run] = conn.execute(
                    table.select().where(table.c.kind == 'service.ensure', table.c.state == 'open')
                ).all()
            found = run.data['progress']
            seen.append((found['done'], found['seconds_left'], time.time() - began))
            return ask(targets)

        self.patch(self.driver, 'ensure_shares', look)
        self.service.knob('alpha', 'ensure_shares:delay=0.2')
        began = time.time()
        self.ensure()
        (_, none, _), (one, of_two, after_one), (two, of_one, after_two) = seen[-3:]
        self.assertEqual((None, 1, 2), (none, one, two))
        # Both are rounded to tenths of a second.
        self.assertTrue(0.4 <= of_two <= 2 * after_one + 0.05, seen)
        self.assertTrue(0.2 <= of_one <= after_two / 2 + 0.05, seen)

    def test_backend_option_keeps_share_statuses_unchanged(self):
        self.override('update_shares_status_on_ensure', False, 'alpha')
        lost, well = self.shares(2)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(lost))
        self.service.knob('alpha', 'ensure_shares:hang')
        self.assertEqual(202, self.ask()[0])
        base.eventually(
            lambda: [call[1].count(',') for call in self.driver.store.calls('ensure_shares')[-1:]] == [1],
            'the backend is not asked',
        )
        self.assertEqual((True, ['available'] * 2), (self.ensuring(), self.statuses([lost, well])))
        self.service.knob('alpha', '')
        self.idle()
        self.assertEqual(['available'] * 2, self.statuses([lost, well]))
        self.assertIn('data of the share is missing', self.told(lost)[0][1])

    def test_default_option_keeps_share_statuses_unchanged(self):
        self.override('update_shares_status_on_ensure', False)
        [lost] = self.shares(1)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(lost))
        self.ensure()
        self.assertEqual(['available'], self.statuses([lost]))

    def test_busy_and_error_shares_are_skipped(self):
        busy, bad, well = self.shares(3)
        self.service.knob('alpha', 'extend_share:hang')
        self.admin.action(busy, 'extend', {'new_size': 2})
        self.admin.action(bad, 'reset_status', {'status': 'error'})
        found = self.ensure()
        self.assertEqual(
            ('done', 2, 2), (found['state'], found['progress']['done'], found['progress']['total'])
        )
        self.assertEqual(['extending', 'error', 'available'], self.statuses([busy, bad, well]))
        self.assertEqual([self.instance(well)], self.driver.store.calls('ensure_shares')[-1][1].split(','))
        self.service.knob('alpha', '')
        self.admin.wait(f'/shares/{busy}', 'share', 'available')

    def test_only_shares_of_the_current_batch_refuse_changes(self):
        self.small_batches(1)
        idents = self.shares(2)
        first, second = sorted(idents, key=self.instance)
        self.service.knob('alpha', 'ensure_shares:hang')
        self.ask()
        self.reached(first)
        self.assertEqual(['ensuring', 'available'], self.statuses([first, second]))
        self.assertEqual(
            [403, 400, 400],
            [
                self.admin.call('DELETE', f'/shares/{first}')[0],
                self.admin.action(first, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1'})[0],
                self.admin.action(first, 'extend', {'new_size': 2})[0],
            ],
        )
        self.assertEqual(200, self.admin.call('PUT', f'/shares/{first}', {'share': {'display_name': 'x'}})[0])
        self.admin.action(second, 'extend', {'new_size': 2})
        self.admin.wait(f'/shares/{second}', 'share', 'available')
        self.service.knob('alpha', '')
        self.idle()
        self.assertEqual(['available'] * 2, self.statuses(idents))

    def test_status_resets_and_deletion_during_a_run_are_kept(self):
        gone, reset, lost = idents = self.shares(3)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(lost))
        self.service.knob('alpha', 'ensure_shares:hang_after')
        self.ask()
        self.reached(gone)
        self.assertEqual(['ensuring'] * 3, self.statuses(idents))
        self.admin.action(reset, 'reset_status', {'status': 'error'})
        self.admin.action(lost, 'reset_status', {'status': 'available'})
        self.assertEqual(202, self.admin.action(gone, 'force_delete')[0])
        self.admin.wait(f'/shares/{gone}', 'share', 'gone')
        self.service.knob('alpha', '')
        self.idle()
        self.assertEqual(['error', 'available'], self.statuses([reset, lost]))

    def test_reported_metadata_are_merged_and_access_rules_reapplied(self):
        """Check that metadata are added to those of the user, and that access rules are applied again on request."""
        first, second = idents = self.shares(2)
        for share_id in idents:
            self.admin.action(share_id, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1'})
            self.admin.wait(f'/shares/{share_id}', 'share', 'active', field='access_rules_status')
        self.admin.ok('POST', f'/shares/{first}/metadata', {'metadata': {'mine': 'kept', 'place': 'there'}})
        told = len(self.driver.store.calls('update_access'))
        plain = self.driver.ensure_shares
        self.addCleanup(setattr, self.driver, 'ensure_shares', plain)
        wanted = self.instance(second)
        self.driver.ensure_shares = lambda targets: {
            share_id: dataclasses.replace(
                result, metadata={'place': 'here'}, reapply_access_rules=share_id == wanted
            )
            for share_id, result in plain(targets).items()
        }
        self.ensure()
        self.assertEqual(
            [{'mine': 'kept', 'place': 'here'}, {'place': 'here'}],
            [self.admin.ok('GET', f'/shares/{share_id}/metadata')['metadata'] for share_id in idents],
        )
        base.eventually(
            lambda: [ids for _, ids in self.driver.store.calls('update_access')[told:]] == [wanted],
            'is not told',
        )

    def test_access_rule_added_during_a_run_is_applied(self):
        """Check that rules can change during a run that does not change statuses."""
        self.override('update_shares_status_on_ensure', False, 'alpha')
        [share_id] = self.shares(1)
        self.service.knob('alpha', 'ensure_shares:hang')
        self.ask()
        base.eventually(
            lambda: self.instance(share_id) in [ids for _, ids in self.driver.store.calls('ensure_shares')],
            'is not asked',
        )
        self.admin.action(share_id, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.7'})
        self.admin.wait(f'/shares/{share_id}', 'share', 'active', field='access_rules_status')
        self.service.knob('alpha', '')
        self.idle()
        base.eventually(
            lambda: (
                [rule[1] for rule in self.driver.store.share(self.instance(share_id)).rules.values()]
                == ['10.0.0.7']
            ),
            'the rule is lost',
        )


class Interrupted(EnsureTest):
    """A process that ends during a run, and runs that start without a request."""

    def restart(self):
        self.service.stop()
        self.service.start()

    def test_interrupted_run_is_continued_by_the_next_process(self):
        self.small_batches(1)
        idents = sorted(self.shares(4), key=self.instance)
        self.service.knob('alpha', 'ensure_shares:hang')
        self.ask()
        self.reached(idents[0])
        stopping = threading.Thread(target=self.service.stop)
        stopping.start()  # stop waits for the present batch only
        manager = self.service.managers['alpha']
        base.eventually(lambda: not manager.worker.runner.may_claim(), 'does not stop')
        self.service.knob('alpha', '')
        stopping.join()
        self.assertEqual(
            [self.instance(idents[0])], [ids for _, ids in self.driver.store.calls('ensure_shares')][-1:]
        )
        self.assertTrue(self.ensuring())
        self.assertEqual(['available'] * 4, self.statuses(idents))
        self.service.start()
        self.idle()
        asked = [ids for _, ids in self.driver.store.calls('ensure_shares')][-4:]
        self.assertEqual([self.instance(instance_id) for instance_id in (*idents[1:], idents[0])], asked)
        self.assertEqual(('done', ['available'] * 4), (self.last()['state'], self.statuses(idents)))

    def test_shares_left_ensuring_by_a_kill_are_ensured_at_start(self):
        """Check that a start ensures shares after a kill, even with an unchanged fingerprint."""
        share_id, other = self.shares(2)
        self.ensure()
        self.service.stop()
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_instances.update()
                .where(models.share_instances.c.share_id == share_id)
                .values(status='ensuring')
            )
            conn.execute(models.services.update().where(models.services.c.host == HOST).values(ensuring=True))
        lose_exports(self.driver)
        self.service.start()
        self.admin.wait(f'/shares/{share_id}', 'share', 'available')
        self.idle()
        self.assertTrue(self.driver.store.share(self.instance(other)).exported)

    def test_start_ensures_extending_but_not_creating_shares(self):
        """Check that a share is served that an operation is to go on with, and none that its backend may not have."""
        grows, new = self.shares(2)
        self.idle()
        self.service.stop()
        table = models.share_instances
        with self.service.services.db.writer() as conn:
            for resource_id, status in ((grows, 'extending'), (new, 'creating')):
                conn.execute(table.update().where(table.c.share_id == resource_id).values(status=status))
        lose_exports(self.driver)
        self.service.start()
        base.eventually(lambda: self.driver.store.share(self.instance(grows)).exported, 'it is not served')
        self.assertEqual(self.instance(grows), self.driver.store.calls('ensure_shares')[-1][1])
        self.assertEqual(['extending', 'creating'], self.statuses([grows, new]))

    def test_configuration_change_starts_a_run(self):
        [share_id] = self.shares(1)
        self.override('dummy_export_ips', ['10.9.9.1'], 'alpha')
        base.eventually(
            lambda: '10.9.9.1' in json.dumps(self.admin.ok('GET', f'/shares/{share_id}/export_locations')),
            'nobody sees it',
        )
        self.idle()
        with self.service.services.db.reader() as conn:
            kept = conn.execute(models.services.select().where(models.services.c.host == HOST)).first()
        self.assertEqual(ensure.fingerprint(self.service.managers['alpha']), kept.ensured_as)
        self.assertIsNotNone(kept.ensured_at)

    def test_interval_starts_runs_periodically(self):
        [instance_id] = self.shares(1)
        self.override('ensure_interval', 0.2, 'alpha')
        self.restart()
        self.idle()
        lose_exports(self.driver)
        base.eventually(lambda: self.driver.store.share(self.instance(instance_id)).exported, 'nobody looks')
        self.assertEqual(['available'], self.statuses([instance_id]))

    def runs_by_the_clock(self):
        table = models.operations
        with self.service.services.db.reader() as conn:
            return [
                row.id
                for row in conn.execute(table.select().where(table.c.kind == 'service.ensure'))
                if row.data['why'] == INTERVAL
            ]

    def test_no_periodic_run_starts_without_an_interval(self):
        self.patch(startup, '_WATCH', 0.05)
        self.restart()
        self.idle()
        asked, looks = self.driver.fingerprint, []
        self.patch(self.driver, 'fingerprint', lambda: looks.append(1) or asked())
        before = self.runs_by_the_clock()
        base.eventually(lambda: len(looks) > 5, 'nobody looks whether the configuration changed')
        self.assertEqual(before, self.runs_by_the_clock())

    def test_failed_run_at_start_is_repeated_until_it_succeeds(self):
        [instance_id] = self.shares(1)
        self.service.stop()
        lose_exports(self.driver)
        self.driver.knobs.turn('ensure_shares:fail_final@times=4')  # more often than one run tries
        self.service.start()
        base.eventually(
            lambda: self.driver.store.share(self.instance(instance_id)).exported, 'nobody looks again'
        )


class Watched(EnsureTest):
    """The command ``manila-manage ensure watch``."""

    def watch(self, host=HOST):
        return manage.run(
            self.service.state / 'manila_lite.conf', 'manage', 'ensure', 'watch', host, '--every', '0.1'
        )

    def test_watch_shows_progress_and_exits_with_the_result(self):
        _, lost = self.shares(2)
        self.service.knob('alpha', 'ensure_shares:delay=1.5')
        self.ask()
        status, out, err = self.watch('test@alpha#pool1')
        self.assertEqual(0, status, out + err)
        self.assertRegex(out, r'(?s)checked +100 % +2 of 2 shares')
        self.idle()
        self.service.knob('alpha', '')
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(lost))
        self.ensure()
        status, out, err = self.watch()
        self.assertEqual(1, status, out + err)
        self.assertIn('1 broken', out)
        self.service.knob('alpha', 'ensure_shares:fail_final')
        self.ensure()
        status, out, err = self.watch()
        self.assertEqual(1, status, out + err)
        self.assertIn('1 share could not be ensured', out)
        status, out, err = self.watch('nowhere@alpha')
        self.assertEqual(1, status, out + err)
        self.assertIn('nowhere@alpha', err)

    def test_watch_follows_its_own_run(self):
        """Follow the run that was requested, also after a newer one has begun and ended (issue 19, 10)."""
        [lost] = self.shares(1)
        self.service.knob('alpha', 'ensure_shares:fail_final')
        mine = self.begin()
        self.idle()
        self.service.knob('alpha', '')
        newer = self.begin()
        self.idle()
        status, out, err = self.watch(mine)
        self.assertEqual(1, status, out + err)
        self.assertIn(f'{lost}: ensure_shares cannot be done', out)
        self.assertEqual(0, self.watch(newer)[0])
        status, out, err = self.watch(HOST)
        self.assertRegex(err, 'operation [-0-9a-f]{36} ')
        status, out, err = self.watch('00000000-0000-0000-0000-000000000000')
        self.assertEqual(1, status, out + err)
        self.assertIn('is no check of shares', err)


class Failed(EnsureTest):
    """A failed run that an administrator requested (issue 19, 10)."""

    def retries(self):
        table = models.operations
        with self.service.services.db.reader() as conn:
            return conn.execute(
                table.select().where(table.c.kind == 'service.ensure').order_by(table.c.created_at)
            ).all()

    def test_answer_names_the_operation(self):
        for path, body in (('ensure', {'host': HOST}), ('ensure-shares', {'ensure_shares': {'host': HOST}})):
            status, _, headers = self.admin.call('POST', f'/services/{path}', body)
            self.assertEqual(202, status)
            self.assertEqual(self.last()['id'], headers['Operation-Id'])
            self.idle()

    def test_it_is_tried_again_as_its_message_says(self):
        self.patch(startup, '_WATCH', 0.1)
        self.patch(startup, '_RETRY', 0.1)
        self.restart()
        failing, well = self.shares(2)
        plain = self.driver.ensure_shares
        wanted = self.instance(failing)
        self.patch(
            self.driver,
            'ensure_shares',
            lambda targets: {
                share_id: result for share_id, result in plain(targets).items() if share_id != wanted
            },
        )
        found = self.ensure()
        self.assertEqual(
            ('failed', {failing: 'The backend did not report on it.'}),
            (found['state'], found['report']['reasons']),
        )
        [(_, text)] = self.told(failing)
        self.assertIn('is checked again automatically', text)
        base.eventually(
            lambda: any(row.data['why'] == RETRY and row.state == 'failed' for row in self.retries()),
            'nobody tries again',
        )
        self.assertEqual('available', self.statuses([failing])[0])
        self.patch(self.driver, 'ensure_shares', plain)
        base.eventually(lambda: self.retries()[-1].state == 'done', 'nobody tries again until it succeeds')
        tried = [row.data['only'] for row in self.retries() if row.data['why'] == RETRY]
        self.assertEqual([[wanted]] * len(tried), tried)
        self.assertEqual(([], 1), (self.told(well), len(self.told(failing))))
        before = len(self.retries())
        base.eventually(lambda: self.service.managers['alpha'].failed_run is None, 'is kept')
        self.assertEqual(before, len(self.retries()))

    def restart(self):
        self.service.stop()
        self.service.start()
        self.idle()

    def test_message_does_not_suppress_a_later_different_one(self):
        """Tell the owner about each new reason, and about the same one only once in automatic runs."""
        [share_id] = self.shares(1)
        self.override('update_shares_status_on_ensure', False, 'alpha')
        texts = []
        for reason in ('one', 'one', 'two', 'one'):
            self.patch(
                self.driver,
                'ensure_shares',
                lambda targets, reason=reason: {
                    target.share.id: values.EnsureResult(error=f'Disk {reason} is lost.')
                    for target in targets
                },
            )
            run = startup.ask(self.service.managers['alpha'], INTERVAL)
            self.over(run)
            texts.append(len(self.told(share_id)))
        self.assertEqual([1, 1, 2, 3], texts)

    def test_each_share_has_the_reason_of_its_own(self):
        ours = self.shares(3)
        reasons = dict(zip(ours, ('Disk one is lost.', 'Disk two is lost.', None), strict=True))
        by_instance = {self.instance(share_id): why for share_id, why in reasons.items()}
        plain = self.driver.ensure_shares
        self.patch(
            self.driver,
            'ensure_shares',
            lambda targets: {
                share_id: values.EnsureResult(error=by_instance[share_id])
                if by_instance[share_id]
                else result
                for share_id, result in plain(targets).items()
            },
        )
        self.assertEqual(
            {share_id: why for share_id, why in reasons.items() if why}, self.ensure()['report']['reasons']
        )


class Part(Quiet):
    """Runs for a part of a backend, and dry runs (issue 19, 11)."""

    def begun(self, **more):
        """Request a run and wait for its end. Return the operation."""
        status, document, headers = self.admin.call('POST', '/services/ensure', {'host': HOST, **more})
        self.assertEqual(202, status, document)
        self.idle()
        return self.admin.ok('GET', f'/operations/{headers["Operation-Id"]}')['operation']

    def exported(self, idents):
        return [self.driver.store.share(self.instance(share_id)).exported for share_id in idents]

    def test_one_share_is_repaired_and_no_other(self):
        mine, other = self.shares(2)
        lose_exports(self.driver)
        found = self.begun(share_id=mine)
        self.assertEqual(
            ('done', 1, 1), (found['state'], found['progress']['done'], found['progress']['total'])
        )
        self.assertEqual([True, False], self.exported([mine, other]))
        self.assertEqual([mine], list(found['report']['repairs']))
        self.ensure()
        self.assertEqual([True, True], self.exported([mine, other]))

    def test_one_pool_is_repaired(self):
        self.shares(2)
        self.assertEqual(2, self.begun(host=f'{HOST}#pool1')['progress']['done'])

    def test_unknown_parts_are_refused(self):
        [share_id] = self.shares(1)
        unknown = '00000000-0000-0000-0000-00000000dead'
        for more, status, word in (
            ({'share_id': unknown}, 404, f'Share {unknown} is not on host {HOST}.'),
            ({'share_server_id': unknown}, 404, f'share server {unknown}'),
            ({'host': f'{HOST}#nowhere'}, 404, 'pool nowhere'),
            ({'share_id': share_id, 'share_server_id': unknown}, 400, 'share_id: '),
            ({'share_id': share_id, 'host': f'{HOST}#pool1'}, 400, 'share_id: '),
            ({'dry_run': 'maybe'}, 400, 'dry_run'),
        ):
            found = self.admin.call('POST', '/services/ensure', {'host': HOST, **more})[:2]
            self.assertEqual(status, found[0], found)
            self.assertIn(word, str(found[1]))
        self.assertFalse(self.ensuring())

    def test_dry_run_changes_nothing_and_says_what_would_be_repaired(self):
        lost, gone, well = self.shares(3)
        lose_exports(self.driver)
        self.begun(share_id=well)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(gone))
        found = self.begun(dry_run=True)
        self.assertEqual('done', found['state'])
        self.assertEqual({lost: ['It was not exported.']}, found['report']['repairs'])
        self.assertEqual({gone: 'The data of the share is missing.'}, found['report']['reasons'])
        self.assertEqual([False, True], self.exported([lost, well]))
        self.assertEqual((['available'] * 3, []), (self.statuses([lost, gone, well]), self.told(gone)))
        self.ensure()
        self.assertEqual(['available', 'error', 'available'], self.statuses([lost, gone, well]))

    def test_dry_run_applies_no_option(self):
        path = self.service.state / 'manila_lite.conf'
        text = path.read_text()
        self.addCleanup(path.write_text, text)
        path.write_text(text.replace('[alpha]\n', '[alpha]\ndummy_reserved_percentage = 7\n'))
        found = self.begun(dry_run=True)
        self.assertEqual(['dummy_reserved_percentage'], found['report']['configuration']['applied'])
        self.assertEqual(0, self.service.conf.alpha.dummy_reserved_percentage)

    def test_dry_run_of_a_driver_that_cannot_say_it_fails_without_a_message(self):
        [share_id] = self.shares(1)
        self.service.knob('alpha', 'inspect_shares:fail')
        found = self.begun(dry_run=True)
        self.assertEqual('failed', found['state'])
        self.assertIn('1 share could not be inspected', found['error'])
        self.assertEqual((['available'], []), (self.statuses([share_id]), self.told(share_id)))

    def test_dry_run_waits_for_no_share_and_gives_no_status(self):
        [share_id] = self.shares(1)
        self.service.knob('alpha', 'inspect_shares:hang')
        self.admin.ok('POST', '/services/ensure', {'host': HOST, 'dry_run': True})
        base.eventually(lambda: self.driver.store.calls('inspect_shares'), 'is not inspected')
        self.assertEqual(['available'], self.statuses([share_id]))
        self.service.knob('alpha', '')
        self.idle()

    def test_command_prints_what_would_be_repaired_and_then_repairs_it(self):
        [share_id] = self.shares(1)
        lose_exports(self.driver)
        config = self.service.state / 'manila_lite.conf'
        for more, exported, words in (
            (['--dry-run'], False, 'would be repaired: It was not exported.'),
            (['--share', share_id], True, f'{share_id}: It was not exported.'),
        ):
            status, out, err = manage.run(config, 'manage', 'ensure', 'start', HOST, '--every', '0.1', *more)
            self.assertEqual(0, status, out + err)
            self.assertIn(words, out)
            self.assertEqual([exported], self.exported([share_id]))
        status, out, err = manage.run(config, 'manage', 'ensure', 'start', HOST, '--server', 'nowhere')
        self.assertEqual((1, ''), (status, out), err)
        self.assertIn('nowhere', err)
