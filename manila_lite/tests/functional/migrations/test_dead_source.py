# SPDX-License-Identifier: Apache-2.0
"""Access rules of shares that move away from a backend whose share manager is dead, or busy with these rules."""

import contextlib

from manila_lite.tests.functional import base
from manila_lite.tests.functional.migrations import test_share_migration, test_share_server_migration


@contextlib.contextmanager
def dead(service, backend):
    """Have the backend's manager claim no operations inside the block."""
    runner = service.managers[backend].worker.runner
    alive, runner.may_claim = runner.may_claim, lambda: False
    try:
        yield
    finally:
        runner.may_claim = alive
        runner.wake()


class Rules:
    """Helpers to deny rules of a share, for test cases that have ``admin`` and ``store``."""

    def allow(self, share, to):
        """Allow access, and return the rule's id; the backend may not know it yet."""
        self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': to})
        [rule] = [rule for rule in self.rules(share) if rule['access_to'] == to]
        return rule['id']

    def rules(self, share):
        """Return the rules as the API shows them."""
        return self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']

    def deny(self, share, rule_id):
        """Deny access, and check that the request was accepted."""
        self.assertEqual(202, self.admin.action(share['id'], 'deny_access', {'access_id': rule_id})[0])

    def in_force(self, backend, share):
        """Return the clients that the backend admits, with their levels."""
        return sorted(
            (to, level) for _, to, level in self.store(backend).share(self.instance(share)).rules.values()
        )

    def ends_with(self, backend, share, rules):
        """Check that the backend admits these clients in the end, and that the API shows the same."""
        base.eventually(lambda: self.in_force(backend, share) == rules, f'not {rules}')
        base.eventually(
            lambda: (
                sorted(
                    (rule['access_to'], rule['access_level'])
                    for rule in self.rules(share)
                    if rule['state'] == 'active'
                )
                == rules
                and len(self.rules(share)) == len(rules)
            ),
            f'{rules} are not shown',
        )
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')


class OfServers(Rules, test_share_server_migration.MigrationTest):
    """A share server moves from ``alpha`` to ``beta``."""

    BACKENDS = {name: test_share_server_migration.BACKEND.format('here') for name in ('alpha', 'beta')}

    def with_rules(self, *clients):
        """Make a server with a share and active rules; return (server, share, rule ids)."""
        server, [share] = self.make_shares(1)
        rules = [self.allow(share, to) for to in clients]
        self.at_rest()
        return server, share, rules

    def test_rules_denied_before_and_during_a_move_from_a_dead_source_end_at_the_target(self):
        server, share, [early, late, _] = self.with_rules('10.1.0.1', '10.1.0.2', '10.1.0.3')
        with dead(self.service, 'alpha'):
            self.deny(share, early)
            self.assertEqual(202, self.start(server)[0])
            self.task_is(server, 'migration_driver_phase1_done')
            self.deny(share, late)
            self.assertEqual(200, self.act(server, 'migration_complete')[0])
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.ends_with('beta', share, [('10.1.0.3', 'rw')])
            self.allow(share, '10.1.0.4')
            self.ends_with('beta', share, [('10.1.0.3', 'rw'), ('10.1.0.4', 'rw')])
        self.at_rest()
        self.ends_with('beta', share, [('10.1.0.3', 'rw'), ('10.1.0.4', 'rw')])

    def test_rules_denied_and_changed_during_the_cut_over_end_at_the_target(self):
        server, share, [rule, other, _] = self.with_rules('10.1.0.1', '10.1.0.2', '10.1.0.3')
        self.reaches_its_target(server)
        self.service.knob('beta', 'share_server_migration_complete:hang')
        self.act(server, 'migration_complete')
        self.task_is(server, 'migration_completing')
        self.deny(share, rule)
        self.service.knob('beta', '')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.ends_with('beta', share, [('10.1.0.2', 'rw'), ('10.1.0.3', 'rw')])
        self.deny(share, other)
        self.ends_with('beta', share, [('10.1.0.3', 'rw')])

    def test_denial_that_the_source_works_on_during_the_whole_cut_over_ends_at_the_target(self):
        server, share, [rule, _] = self.with_rules('10.1.0.1', '10.1.0.2')
        self.reaches_its_target(server)
        self.service.knob('alpha', 'update_access:hang')
        self.deny(share, rule)
        base.eventually(
            lambda: 'denying' in {row['state'] for row in self.rules(share)}, 'the source does not deny'
        )
        self.act(server, 'migration_complete')
        self.ends_with('beta', share, [('10.1.0.2', 'rw')])
        self.service.knob('alpha', '')
        self.at_rest()
        self.ends_with('beta', share, [('10.1.0.2', 'rw')])

    def test_rules_that_did_not_change_are_not_applied_twice(self):
        server, share, _ = self.with_rules('10.1.0.1')
        self.reaches_its_target(server)
        driver, told = self.service.managers['beta'].driver, []
        apply = driver.update_access
        self.patch(driver, 'update_access', lambda share, rules: told.append(rules) or apply(share, rules))
        self.act(server, 'migration_complete')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.at_rest()
        self.assertEqual([], told)
        self.assertEqual([('10.1.0.1', 'rw')], self.in_force('beta', share))


class OfShares(Rules, test_share_migration.MigrationTest):
    """A share moves by itself from ``alpha`` to ``beta``."""

    BACKENDS = {name: test_share_migration.BACKEND.format('here') for name in ('alpha', 'beta')}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_type('plain')

    def test_rules_denied_during_a_move_from_a_dead_source_end_at_the_target(self):
        share = self.make()
        rule = self.allow(share, '10.1.0.1')
        self.allow(share, '10.1.0.2')
        self.at_rest()
        with dead(self.service, 'alpha'):
            self.assertEqual(202, self.start(share)[0])
            self.task_is(share, 'migration_driver_phase1_done')
            self.deny(share, rule)
            self.assertEqual(202, self.act(share, 'migration_complete')[0])
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            base.eventually(
                lambda: self.shown(share)['access_rules_status'] == 'active', 'the rule is not denied'
            )
            [now] = [
                row['id']
                for row in self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
                if '@beta' in row['host']
            ]
            self.assertEqual(['10.1.0.2'], [to for _, to, _ in self.store('beta').share(now).rules.values()])
            self.assertEqual(['10.1.0.2'], [row['access_to'] for row in self.rules(share)])
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.ends_with('beta', share, [('10.1.0.2', 'rw')])
