# SPDX-License-Identifier: Apache-2.0
"""Policy rules are evaluated again when the interpreter raised an error of its own."""

import testtools
from oslo_config import cfg
from oslo_policy import policy

from manila_lite import conf as options
from manila_lite import policies


class Stumbles:
    """A check that raises a SystemError of CPython ``times`` times."""

    def __init__(self, times):
        self.left = times

    def __call__(self, target, creds, enforcer, current_rule=None):
        self.left -= 1
        if self.left >= 0:
            raise SystemError('AST constructor recursion depth mismatch (before=141, after=139)')
        return True


class Enforced(testtools.TestCase):

    def enforce(self, times):
        conf = options.register(cfg.ConfigOpts())
        conf([], project='manila_lite', default_config_files=[], default_config_dirs=[])
        enforcer = policies.make_enforcer(conf, [policy.RuleDefault('x', '!')])
        enforcer.rules['x'] = Stumbles(times)
        return enforcer.enforce('x', {}, {'roles': []})

    def test_evaluation_is_retried_after_interpreter_errors(self):
        for times in (0, 1, 5):
            self.assertTrue(self.enforce(times))

    def test_retries_after_interpreter_errors_are_limited(self):
        self.assertRaises(SystemError, self.enforce, 1000)
