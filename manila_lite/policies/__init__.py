# SPDX-License-Identifier: Apache-2.0
"""Access policies: one module per resource type, each with ``RULES``. A call that no rule allows is denied."""

import importlib
import itertools
import math
import pkgutil
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from oslo_config import cfg
from oslo_policy import opts, policy

from manila_lite.policies import base


def list_rules() -> Iterator[policy.RuleDefault]:
    """Yield every rule, for the enforcer and for the sample generator."""
    yield from base.PERSONAS
    for info in pkgutil.iter_modules(__path__):
        if info.name != 'base':
            yield from importlib.import_module(f'manila_lite.policies.{info.name}').RULES


#: Seconds within which a change of a policy file is noticed.
LOOK_EVERY = 1.0
#: Number of tries for a rule before its SystemError is raised.
_TRIES = 10


class Enforcer(policy.Enforcer):
    """Checks the policy files for changes once in a while: to do so before each answer costs several times the answer."""

    _look_at = -math.inf

    def load_rules(self, force_reload: bool = False) -> None:
        """Load the policy files, at most every ``LOOK_EVERY`` seconds unless forced."""
        now = time.monotonic()
        if force_reload or not self.rules or now >= self._look_at:
            super().load_rules(force_reload)
            self._look_at = now + LOOK_EVERY

    def enforce(self, *args: Any, **kwargs: Any) -> Any:
        """Enforce a rule, with further tries after a SystemError.

        The base class parses Python literals. CPython 3.11 counts the depth of that for all threads together: when
        threads interfere, it raises SystemError, though nothing is wrong.
        """
        for _ in range(_TRIES):
            try:
                return super().enforce(*args, **kwargs)
            except SystemError as bad:
                last = bad
        raise last


def make_enforcer(conf: cfg.ConfigOpts, rules: Iterable[policy.RuleDefault] | None = None) -> policy.Enforcer:
    """Return an enforcer with all rules registered. The operator's policy file, if any, overrides them.

    ``rules``: those of a sibling, used with the personas; by default all rules of this package.
    """
    opts.set_defaults(conf, policy_file='policy.yaml')
    enforcer = Enforcer(conf)
    enforcer.register_defaults([*list_rules()] if rules is None else [*base.PERSONAS, *rules])
    enforcer.load_rules()
    return enforcer


def get_enforcer() -> policy.Enforcer:
    """Return an enforcer for oslopolicy-* tools, with the configuration that their command line names."""
    conf = cfg.CONF
    conf(list(_about_configuration(sys.argv[1:])), project='manila_lite')
    return make_enforcer(conf)


def _about_configuration(words: list[str]) -> Iterator[str]:
    """Yield the words of ``--config-file`` and ``--config-dir``, whose value is behind "=" or is the next word."""
    for before, word in itertools.pairwise(['', *words]):
        if word.startswith('--config-') or before in ('--config-file', '--config-dir'):
            yield word
