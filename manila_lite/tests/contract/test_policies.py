# SPDX-License-Identifier: Apache-2.0
"""Every call checks its policy rule first, and no role has the rights of another."""

import pathlib
import subprocess
import sys

import fixtures
import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import policies
from manila_lite.api.v2 import CALLS
from manila_lite.tests import waiting
from manila_lite.tests.functional import base


class Roles(base.ServiceTest):
    """The rules by themselves; functional/identity/test_roles.py tests the API with them."""

    PARTS = ()

    def test_caller_without_a_useful_role_passes_no_rule(self):
        """A caller without a useful role passes no rule of any call, except those that are public by design."""
        context = self.service.context(roles=['none'])
        public = sorted({op.policy for op in CALLS if context.can(op.policy)})
        self.assertEqual([], public)

    def test_members_fail_the_rules_of_administrators(self):
        context = self.service.context(roles=['member', 'reader'])
        for rule in policies.list_rules():
            if rule.check_str in ('rule:admin_api', 'rule:admin_or_service'):
                self.assertFalse(context.can(rule.name), rule.name)
                self.assertTrue(self.service.context(roles=['admin']).can(rule.name), rule.name)

    def test_members_pass_rules_only_for_their_own_project(self):
        context = self.service.context(project='p', roles=['member', 'reader'])
        own, foreign = {'project_id': 'p'}, {'project_id': 'q'}
        for rule in policies.list_rules():
            if rule.check_str in ('rule:admin_or_project_member', 'rule:admin_or_project_reader'):
                self.assertTrue(context.can(rule.name, own), rule.name)
                self.assertFalse(context.can(rule.name, foreign), rule.name)

    def test_service_role_does_not_pass_admin_rules(self):
        context = self.service.context(roles=['service'])
        self.assertTrue(context.can('service_role'))
        self.assertTrue(context.can('admin_or_service'))
        self.assertFalse(context.can('admin_api'))

    def test_an_unknown_rule_is_denied(self):
        self.assertFalse(self.service.context(roles=['member']).can('no:such_rule'))


class Rules(testtools.TestCase):
    def test_names_are_unique_and_described(self):
        rules = list(policies.list_rules())
        self.assertEqual(len(rules), len({rule.name for rule in rules}))
        for rule in rules:
            self.assertTrue(rule.description, rule.name)

    def test_context_is_admin_needs_the_role_admin(self):
        found = {rule.name: rule.check_str for rule in policies.list_rules()}
        self.assertEqual('role:admin', found['context_is_admin'])
        self.assertEqual('!', found['default'])

    def test_the_sample_has_every_rule(self):
        """The generated sample has every rule: operators could not find one that the generator skips."""
        target = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'policy.yaml'
        done = subprocess.run(
            [
                sys.executable,
                '-c',
                'from oslo_policy.generator import generate_sample; generate_sample()',
                '--namespace',
                'manila_lite',
                '--output-file',
                str(target),
            ],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        text = target.read_text()
        for rule in policies.list_rules():
            self.assertIn(f'"{rule.name}": "{rule.check_str}"', text)

    def test_policy_file_overrides_the_defaults(self):
        state = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (state / 'policy.yaml').write_text('"share:get_all": "role:auditor"\n')
        from manila_lite.tests import fixtures as service_fixtures

        service = self.useFixture(
            service_fixtures.Service(
                parts=(), extra=f'[oslo_policy]\npolicy_file = {state}/policy.yaml\n[DEFAULT]'
            )
        )
        self.assertEqual(403, base.Api(service.app, roles='member,reader').call('GET', '/shares')[0])
        self.assertEqual(200, base.Api(service.app, roles='auditor').call('GET', '/shares')[0])
