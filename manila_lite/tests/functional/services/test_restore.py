# SPDX-License-Identifier: Apache-2.0
"""Backends that start: they serve the shares that they served before, also after failures."""

import threading
import time

import testtools

from manila_lite.db.queries import services
from manila_lite.manager.plans import ensure
from manila_lite.tests import fixtures, waiting
from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base


class Backend(testtools.TestCase):
    """Start and stop of a backend that fails or is slow."""

    def service(self, knobs):
        found = self.useFixture(fixtures.Service({'alpha': ''}, parts=()))
        found.managers['alpha'].driver.store.prepare()
        found.knob('alpha', knobs)
        return found

    def test_backend_works_after_a_failed_first_report(self):
        service = self.service('report:fail@once')
        manager = service.managers['alpha']
        manager.start()
        self.addCleanup(manager.stop)
        base.eventually(lambda: manager.worker._working, 'the backend never works')

    def test_share_is_created_once_the_backend_has_started(self):
        service = self.service('setup:hang')
        api = base.Api(service.app)
        manager = service.managers['alpha']
        manager.start()
        service.scheduler.start()
        self.addCleanup(manager.stop)
        self.addCleanup(service.scheduler.stop)
        self.assertEqual([], api.ok('GET', '/scheduler-stats/pools')['pools'])
        share = api.share(wait=None)
        service.knob('alpha')
        api.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_backend_stopped_during_its_start_claims_no_work(self):
        service = self.service('')
        manager = service.managers['alpha']
        started, go = threading.Event(), threading.Event()
        setup = manager.driver.setup

        def slow():
            setup()
            started.set()
            go.wait(waiting.LIMIT)

        manager.driver.setup = slow
        manager.start()
        started.wait(waiting.LIMIT)
        stopper = threading.Thread(target=manager.stop)
        with (
            service.services.db.writer()
        ):  # the write lock is taken: the first claim of the new worker has to wait
            go.set()
            time.sleep(0.3)  # sleeps: the worker is to try meanwhile, and leaves no trace of it
            stopper.start()
            time.sleep(0.7)  # sleeps: the write lock is to be held for so long
        stopper.join()
        alive = [thread.name for thread in manager.worker.runner._threads.values() if thread.is_alive()]
        manager.worker.runner.stop()
        self.assertEqual([], alive, 'it claims work after it was stopped')

    def test_new_zone_of_a_backend_is_shown(self):
        service = self.service('')
        with service.services.db.writer() as conn:
            services.heartbeat(conn, 'test@alpha', 'manila-share', 'old')
            services.heartbeat(conn, 'test@alpha', 'manila-share', 'new')
            self.assertEqual('new', services.get(conn, 'test@alpha', 'manila-share').zone)


class Restore(base.ServiceTest):
    """Shares that are exported again after a restart."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')
        self.addCleanup(self.service.conf.clear_override, 'dummy_export_ips', 'alpha')
        self.addCleanup(setattr, ensure, 'BATCH', ensure.BATCH)
        ensure.BATCH = 1
        idents = [self.admin.share()['id'] for _ in range(3)]
        self.instances = {
            self.admin.ok('GET', f'/shares/{share_id}/instances')['share_instances'][0]['id']: share_id
            for share_id in idents
        }
        self.addCleanup(self._remove)

    def _remove(self):
        for share_id in self.instances.values():
            self.admin.call('DELETE', f'/shares/{share_id}')
        for share_id in self.instances.values():
            self.admin.wait(f'/shares/{share_id}', 'share', 'gone')

    def restart(self, knob):
        self.service.stop()
        lose_exports(self.service.managers['alpha'].driver)
        self.service.knob('alpha', knob)
        self.service.start()

    def are_back(self, instances):
        store = self.service.managers['alpha'].driver.store
        base.eventually(lambda: all(store.share(instance).exported for instance in instances), 'not served')

    def test_deletion_during_the_restart_does_not_block_other_shares(self):
        self.service.conf.set_override(
            'dummy_export_ips', ['10.9.9.9'], 'alpha'
        )  # so that export locations are written
        first, *others = sorted(self.instances)
        calls = self.service.managers['alpha'].driver.store.calls
        before = len(calls('ensure_shares'))
        self.restart('ensure_shares:delay_after=1@once')
        waiting.until(lambda: len(calls('ensure_shares')) > before, 'the backend is at it')
        self.admin.ok('DELETE', f'/shares/{self.instances[first]}', wait=False)
        self.are_back(others)

    def test_shares_are_exported_again_after_a_failed_first_try(self):
        self.restart('ensure_shares:fail@once')
        self.are_back(self.instances)
