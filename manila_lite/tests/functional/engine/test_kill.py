# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the whole service during any work: after a restart each resource gets a final status."""

import testtools

from manila_lite.tests import process, waiting

_DEFAULT_TYPE = {
    'share_type': {
        'name': 'default',
        'extra_specs': {
            'driver_handles_share_servers': 'False',
            'snapshot_support': 'True',
            'create_share_from_snapshot_support': 'True',
            'revert_to_snapshot_support': 'True',
        },
    }
}


class Kill(testtools.TestCase):
    """One service for each test with a dummy backend, which keeps its state on disk and can be told to hang."""

    def setUp(self):
        super().setUp()
        self.lite = self.useFixture(process.Lite())
        self.lite.start()
        self.lite.ok('POST', '/types', _DEFAULT_TYPE)
        self._wait_for_pool()

    def _wait_for_pool(self):
        waiting.until(
            lambda: self.lite.ok('GET', '/scheduler-stats/pools')['pools'], 'the pool is known', pause=0.05
        )

    def knobs(self, *lines):
        self.lite.knobs(*lines)

    def share(self, size=1):
        return self.lite.ok('POST', '/shares', {'share': {'size': size, 'share_proto': 'NFS'}})['share']['id']

    def available(self, size=1):
        share_id = self.share(size)
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        return share_id

    def reached(self, method):
        """Wait until the backend has begun this call."""
        calls = self.lite.state / 'alpha' / 'calls'
        waiting.until(
            lambda: calls.exists() and method in calls.read_text(),
            lambda: f'{method} is called\n{self.lite.tail()}',
        )

    def kill_in(self, method):
        """Kill the service inside this driver call, and start it again with a healthy backend."""
        self.reached(method)
        self.lite.kill()
        self.knobs()
        self.lite.start()

    def usage(self):
        return {
            key: value['in_use'] + value['reserved']
            for key, value in self.lite.ok('GET', '/quota-sets/p/detail')['quota_set'].items()
            if isinstance(value, dict)
        }

    def test_a_creation_is_finished_by_the_next_process(self):
        self.knobs('create_share:hang')
        share_id = self.share()
        self.kill_in('create_share')
        self.lite.wait(f'/shares/{share_id}', 'share', 'available')
        self.assertEqual(1, self.usage()['shares'])

    def test_creation_that_always_kills_the_service_ends_in_error(self):
        self.knobs('create_share:die_after')
        share_id = self.share()
        self.lite.died()
        for _ in range(12):
            self.lite.spawn()
            if waiting.until(self.ended, 'it dies, or the creation ends', ignoring=(OSError,)) == 'error':
                break
            self.lite.died()
        else:
            self.fail('it dies for ever')
        share = self.lite.wait(f'/shares/{share_id}', 'share', 'error')
        self.assertEqual('error', share['status'])
        self.knobs()
        self.lite.ok('DELETE', f'/shares/{share_id}')
        self.assertEqual(0, self.usage()['shares'])

    def ended(self):
        """Say whether the process has died, or else the status of the only share if it is final."""
        if self.lite.process.poll() is not None:
            return 'died'
        [share] = self.lite.ok('GET', '/shares/detail')['shares']
        return share['status'] if share['status'] == 'error' else None

    def test_a_deletion_is_finished_by_the_next_process(self):
        share_id = self.available()
        self.knobs('delete_share:hang')
        self.lite.ok('DELETE', f'/shares/{share_id}', wait=False)
        self.kill_in('delete_share')
        self.lite.wait(f'/shares/{share_id}', 'share', 'gone')
        self.assertEqual(
            {'shares': 0, 'gigabytes': 0}, {key: self.usage()[key] for key in ('shares', 'gigabytes')}
        )

    def test_an_extension_is_finished_by_the_next_process(self):
        share_id = self.available()
        self.knobs('extend_share:hang_after')
        self.lite.ok('POST', f'/shares/{share_id}/action', {'extend': {'new_size': 4}})
        self.assertEqual(4, self.usage()['gigabytes'])
        self.kill_in('extend_share')
        self.assertEqual(4, self.lite.wait(f'/shares/{share_id}', 'share', 'available')['size'])
        self.assertEqual(4, self.usage()['gigabytes'])

    def test_a_snapshot_is_finished_by_the_next_process(self):
        share_id = self.available()
        self.knobs('create_snapshot:hang')
        snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share_id}})['snapshot']['id']
        self.kill_in('create_snapshot')
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.knobs('delete_snapshot:hang_after')
        self.lite.ok('DELETE', f'/snapshots/{snapshot}', wait=False)
        self.kill_in('delete_snapshot')
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'gone')
        self.assertEqual(0, self.usage()['snapshots'])

    def test_rules_are_applied_by_the_next_process(self):
        share_id = self.available()
        self.knobs('update_access:hang_after')
        rules = [
            self.lite.ok(
                'POST',
                f'/shares/{share_id}/action',
                {
                    'allow_access': {
                        'access_type': 'ip',
                        'access_to': f'10.0.0.{number}',
                        'access_level': 'rw',
                    }
                },
            )['access']['id']
            for number in (1, 2)
        ]
        self.kill_in('update_access')
        for rule in rules:
            self.lite.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        self.lite.wait(f'/shares/{share_id}', 'share', 'active', field='access_rules_status')
        self.knobs('update_access:hang@once')
        self.lite.ok('POST', f'/shares/{share_id}/action', {'deny_access': {'access_id': rules[0]}})
        self.lite.kill()
        self.knobs()
        self.lite.start()
        self.lite.wait(f'/share-access-rules/{rules[0]}', 'access', 'gone', field='state')

    def test_sigterm_waits_for_the_operation_to_finish(self):
        self.knobs('create_share:delay=1')
        share_id = self.share()
        self.reached('create_share')
        self.assertEqual(0, self.lite.kill(15))
        self.lite.start()
        share = self.lite.ok('GET', f'/shares/{share_id}')['share']
        self.assertEqual('available', share['status'])


class Twice(testtools.TestCase):
    """Two services on the same state."""

    def test_second_service_refuses_to_start(self):
        lite = self.useFixture(process.Lite())
        lite.start()
        first, lite.process = lite.process, None
        try:
            lite.port = process.free_port()
            lite.config.write_text(
                lite.config.read_text() + f'[DEFAULT]\nosapi_share_listen_port = {lite.port}\n'
            )
            self.assertRaises(AssertionError, lite.start)
        finally:
            lite.kill()
            lite.process = first
