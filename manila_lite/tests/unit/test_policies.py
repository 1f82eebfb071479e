# SPDX-License-Identifier: Apache-2.0
"""Policy rules are evaluated again when the interpreter raised an error of its own. Decisions are kept for a moment."""

import testtools
from oslo_config import cfg
from oslo_policy import _checks, policy

from manila_lite import conf as options
from manila_lite import context, policies


class Stumbles:
    """A check that raises a SystemError of CPython ``times`` times."""

    def __init__(self, times):
        self.left = times

    def __call__(self, target, creds, enforcer, current_rule=None):
        self.left -= 1
        if self.left >= 0:
            raise SystemError('AST constructor recursion depth mismatch (before=141, after=139)')
        return True


def enforcer_of(check):
    """Return an enforcer with one rule, ``x``."""
    conf = options.register(cfg.ConfigOpts())
    conf([], project='manila_lite', default_config_files=[], default_config_dirs=[])
    return policies.make_enforcer(conf, [policy.RuleDefault('x', check)])


class Enforced(testtools.TestCase):
    def enforce(self, times):
        enforcer = enforcer_of('!')
        enforcer.rules['x'] = Stumbles(times)
        return enforcer.enforce('x', {}, {'roles': []})

    def test_evaluation_is_retried_after_interpreter_errors(self):
        for times in (0, 1, 5):
            self.assertTrue(self.enforce(times))

    def test_retries_after_interpreter_errors_are_limited(self):
        self.assertRaises(SystemError, self.enforce, 1000)


class Counted(_checks.Check):
    """A check that says yes the first time only, as one that asks another server may."""

    asked = 0

    def __call__(self, target, creds, enforcer, current_rule=None):
        self.asked += 1
        return self.asked == 1


class Decided(testtools.TestCase):
    def decide(self, enforcer, *, own=True, **caller):
        ctx = context.RequestContext(
            **{'user_id': 'u', 'project_id': 'p', 'roles': ['member'], **caller}, overwrite=False
        )
        return enforcer.decide(
            'x', ctx, {'project_id': ctx.project_id, 'user_id': ctx.user_id} if own else {}, own=own
        )

    def test_decision_of_one_caller_is_not_that_of_another(self):
        names = (
            'user_id',
            'user_domain_id',
            'system_scope',
            'domain_id',
            'project_id',
            'project_domain_id',
            'service_user_id',
            'service_user_domain_id',
            'service_project_id',
            'service_project_domain_id',
        )
        for name in names:
            enforcer = enforcer_of(f"'wanted':%({name})s or {name}:wanted")
            for value, decision in (('other', False), ('wanted', True), ('other', False)):
                self.assertEqual(decision, self.decide(enforcer, **{name: value}), name)
        for name in ('roles', 'service_roles'):
            enforcer = enforcer_of(f'{name}:wanted')
            for value, decision in ((['other'], False), (['other', 'wanted'], True), (['wante', 'd'], False)):
                self.assertEqual(decision, self.decide(enforcer, **{name: value}), name)

    def test_credentials_are_all_that_rules_can_ask_for(self):
        ctx = context.RequestContext(overwrite=False)
        known = ctx.credentials()
        for name in ctx.to_policy_values():
            setattr(ctx, name, ['x'] if 'roles' in name else 'x')
            self.assertNotEqual(known, ctx.credentials(), name)
            known = ctx.credentials()

    def test_decision_about_own_resources_is_not_one_about_nothing(self):
        enforcer = enforcer_of('project_id:%(project_id)s')
        for own in (True, False, True):
            self.assertEqual(own, self.decide(enforcer, own=own))

    def test_new_rules_end_old_decisions(self):
        enforcer = enforcer_of('role:member')
        self.assertTrue(self.decide(enforcer))
        enforcer.set_rules({'x': enforcer.rules['admin_api']}, overwrite=False)
        self.assertFalse(self.decide(enforcer))

    def test_checks_that_ask_others_are_asked_each_time(self):
        for make in (
            lambda check: check,
            lambda check: _checks.NotCheck(_checks.NotCheck(check)),
            lambda check: _checks.OrCheck([_checks.FalseCheck(), check]),
            lambda check: _checks.AndCheck([_checks.TrueCheck(), check]),
        ):
            enforcer = enforcer_of('rule:y')
            enforcer.set_rules({'y': make(Counted('asks', 'others'))}, overwrite=False)
            self.assertEqual([True, False], [self.decide(enforcer) for _ in range(2)])
