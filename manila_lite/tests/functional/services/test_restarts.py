# SPDX-License-Identifier: Apache-2.0
"""Restarts of share managers are not felt: a share, or a migration, waits for a backend that was up a moment ago."""

import concurrent.futures
import time

import testtools

from manila_lite.tests import process, waiting


class Restarts(testtools.TestCase):
    """Services in processes of their own; the only share manager ends, and comes back or not."""

    def stopped(self, wait):
        """Start everything, and end the share manager."""
        parts = self.useFixture(process.Parts(backend='driver = dummy\ndummy_pool_size_gb = 10\n'))
        parts.edit('restart_wait = 0\n', f'restart_wait = {wait}\n')
        manager = parts.begin()
        manager.terminate()
        self.assertEqual(0, manager.wait(timeout=waiting.LIMIT))
        return parts

    def test_share_waits_for_a_share_manager_that_is_restarted(self):
        parts = self.stopped(600)
        share = parts.share()
        time.sleep(2)  # sleeps: several looks of the scheduler change nothing
        self.assertEqual('creating', parts.ok('GET', f'/shares/{share}')['share']['status'])
        parts.run('share')
        parts.wait(f'/shares/{share}', 'share', 'available')

    def test_share_waits_for_no_backend_that_would_not_suit_it(self):
        parts = self.stopped(600)
        share = parts.share(size=11)
        parts.wait(f'/shares/{share}', 'share', 'error')

    def test_share_that_waited_in_vain_is_told_that_the_backend_is_down(self):
        parts = self.stopped(2)
        share = parts.share()
        parts.wait(f'/shares/{share}', 'share', 'error')
        [message] = parts.ok('GET', f'/messages?resource_id={share}')['messages']
        self.assertIn('the service of the backend is down', message['user_message'])
        self.assertNotIn('smaller', message['user_message'])


class Migrations(testtools.TestCase):
    """Two backends, each with a share manager of its own. The destination is restarted."""

    WANTED = {
        'host': 'test@beta',
        'writable': False,
        'nondisruptive': False,
        'preserve_snapshots': True,
        'preserve_metadata': True,
    }

    def setUp(self):
        super().setUp()
        self.parts = self.useFixture(
            process.Parts(extra='[api]\nmigration_check_timeout = 200\n[beta]\ndriver = dummy\n')
        )
        self.parts.edit('restart_wait = 0\n', 'restart_wait = 600\n')
        self.other = self.parts.config.with_name('other.conf')
        self.other.write_text(
            self.parts.config.read_text().replace(
                'enabled_share_backends = alpha', 'enabled_share_backends = beta'
            )
        )
        for name in ('api', 'share'):
            self.parts.run(name)
        self.scheduler = self.parts.run('scheduler')
        self.parts.until(self.parts.answers, 'the API answers')
        self.parts.ok('POST', '/types', process.DEFAULT_TYPE)
        self.parts.until(self.parts.pools, 'a pool')
        self.share = self.parts.share()
        self.parts.wait(f'/shares/{self.share}', 'share', 'available')
        self.beta = self.parts.run('share', config=self.other)
        self.parts.until(lambda: len(self.parts.pools()) == 2, 'a second pool')

    def end(self, part):
        part.terminate()
        self.assertEqual(0, part.wait(timeout=waiting.LIMIT))

    def start(self):
        """Start the migration in a thread, since its answer may take long; return what it will be."""
        executor = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(executor.shutdown)
        return executor.submit(
            self.parts.call, 'POST', f'/shares/{self.share}/action', {'migration_start': self.WANTED}
        )

    def test_request_waits_for_a_destination_that_is_restarted(self):
        self.end(self.beta)
        answer = self.start()
        time.sleep(2)  # sleeps: several looks of the scheduler change nothing
        self.assertFalse(answer.done())
        self.parts.run('share', config=self.other)
        self.assertEqual((202, None), answer.result(timeout=waiting.LIMIT))
        self.parts.wait(f'/shares/{self.share}', 'share', 'migration_driver_phase1_done', field='task_state')

    def test_accepted_migration_waits_for_a_destination_that_is_restarted(self):
        """End the scheduler while the destination is asked, so that the migration is accepted and not yet placed."""
        self.parts.knobs('share_migration_check_compatibility:hang', backend='beta')
        answer = self.start()
        self.parts.until(
            lambda: self.parts.calls('share_migration_check_compatibility', 'beta'), 'the question'
        )
        self.end(self.scheduler)
        self.parts.knobs(backend='beta')
        self.assertEqual((202, None), answer.result(timeout=waiting.LIMIT))
        self.end(self.beta)
        self.parts.run('scheduler')
        time.sleep(2)  # sleeps: several looks of the scheduler change nothing
        self.assertEqual(
            'migration_starting', self.parts.ok('GET', f'/shares/{self.share}')['share']['task_state']
        )
        self.parts.run('share', config=self.other)
        self.parts.wait(f'/shares/{self.share}', 'share', 'migration_driver_phase1_done', field='task_state')
