# SPDX-License-Identifier: Apache-2.0
"""Who may do what: one file per noun, each with ``RULES``. What no rule allows is denied."""

import importlib
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


#: Seconds after which a changed policy file is noticed at the latest.
LOOK_EVERY = 1.0
#: How often a rule is looked at before it is believed that it cannot be.
_TRIES = 10


class Enforcer(policy.Enforcer):
    """Looks at the operator's files once in a while, and not before each answer: that costs several times the answer."""

    _look_at = -math.inf

    def load_rules(self, force_reload: bool = False) -> None:
        """The rules are those of the files as they were ``LOOK_EVERY`` seconds ago or later."""
        now = time.monotonic()
        if force_reload or not self.rules or now >= self._look_at:
            super().load_rules(force_reload)
            self._look_at = now + LOOK_EVERY

    def enforce(self, *args: Any, **kwargs: Any) -> Any:
        """As the base class. Its checks parse Python literals, and CPython 3.11 counts how deep it is in them for all threads
        together: when another one gets in between, it raises SystemError, though nothing is wrong.
        """
        for _ in range(_TRIES):
            try:
                return super().enforce(*args, **kwargs)
            except SystemError as bad:
                last = bad
        raise last


def make_enforcer(conf: cfg.ConfigOpts, rules: Iterable[policy.RuleDefault] | None = None) -> policy.Enforcer:
    """Return an enforcer with all rules registered; the operator's policy file, if any, goes over them.

    ``rules``: those of a sibling, beside the personas; by default all that there are here.
    """
    opts.set_defaults(conf, policy_file='policy.yaml')
    enforcer = Enforcer(conf)
    enforcer.register_defaults(list_rules() if rules is None else [*base.PERSONAS, *rules])
    enforcer.load_rules()
    return enforcer


def get_enforcer() -> policy.Enforcer:
    """Return an enforcer for oslopolicy-* tools."""
    conf = cfg.CONF
    conf([arg for arg in sys.argv[1:] if arg.startswith('--config')], project='manila_lite')
    return make_enforcer(conf)
