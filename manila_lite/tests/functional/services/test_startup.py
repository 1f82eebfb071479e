# SPDX-License-Identifier: Apache-2.0
"""Restarts of a share manager: it exports its shares again, and grants no access that was denied meanwhile."""

from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base


class Startup(base.ServiceTest):
    """A dummy backend that loses its exports when a test asks for it."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')

    @property
    def driver(self):
        return self.service.managers['alpha'].driver

    def instance(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances'][0]['id']

    def rule(self, caller, share, to):
        rule = caller.ok(
            'POST', f'/shares/{share["id"]}/action', {'allow_access': {'access_type': 'ip', 'access_to': to}}
        )['access']
        caller.wait(f'/share-access-rules/{rule["id"]}', 'access', 'active', field='state')
        return rule

    def granted(self, instance):
        record = self.driver.store.share(instance)
        return {rule[1] for rule in record.rules.values()} if record.exported else set()

    def eventually(self, expected, instance):
        base.eventually(lambda: self.granted(instance) == expected, f'not {expected} is granted')

    def restart(self):
        self.service.stop()
        lose_exports(self.driver)
        self.service.start()

    def test_exports_and_access_rules_are_restored_after_a_restart(self):
        caller = self.caller('back')
        share = caller.share()
        self.rule(caller, share, '10.0.0.1')
        instance = self.instance(share)
        before = caller.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        self.restart()
        self.eventually({'10.0.0.1'}, instance)
        after = caller.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        self.assertEqual(before, after)

    def test_access_rule_denied_during_a_restart_is_not_restored(self):
        caller = self.caller('gone')
        share = caller.share()
        self.rule(caller, share, '10.0.0.1')
        doomed = self.rule(caller, share, '10.0.0.2')
        instance = self.instance(share)
        self.service.stop()
        lose_exports(self.driver)
        before = len(self.driver.store.calls('ensure_shares'))
        self.service.knob('alpha', 'ensure_shares:hang')
        self.service.start()
        # The backend is in the call, which has both rules.
        base.eventually(lambda: len(self.driver.store.calls('ensure_shares')) > before, 'is not ensured')
        caller.ok('POST', f'/shares/{share["id"]}/action', {'deny_access': {'access_id': doomed['id']}})
        caller.wait(f'/share-access-rules/{doomed["id"]}', 'access', 'gone', field='state')
        self.service.knob('alpha', '')
        base.eventually(lambda: not self.ensuring(), 'is ensured for ever')
        self.eventually({'10.0.0.1'}, instance)

    def ensuring(self):
        return self.admin.ok('GET', '/services?host=test@alpha&binary=manila-share')['services'][0][
            'ensuring'
        ]

    def test_share_is_created_after_two_failed_starts_of_the_backend(self):
        self.service.stop()
        self.service.knob('alpha', 'setup:fail@times=2')
        self.service.start()
        self.assertEqual('available', self.caller('late').share()['status'])
