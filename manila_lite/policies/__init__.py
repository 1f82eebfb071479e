# SPDX-License-Identifier: Apache-2.0
"""Access policies: one module per resource type, each with ``RULES``. A call that no rule allows is denied."""

import importlib
import itertools
import math
import pkgutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_policy import _checks, opts, policy

from manila_lite.policies import base, files

LOG = log.getLogger(__name__)


def list_rules() -> Iterator[policy.RuleDefault]:
    """Yield every rule, for the enforcer and for the sample generator."""
    yield from base.PERSONAS
    for info in pkgutil.iter_modules(__path__):
        if info.name not in ('base', 'files'):
            yield from importlib.import_module(f'manila_lite.policies.{info.name}').RULES


#: Seconds between looks at the policy files. A change is in force within these.
LOOK_EVERY = 1.0
#: Number of tries for a rule before its SystemError is raised.
_TRIES = 10
#: Decisions that an enforcer keeps at most: it forgets all when there are more.
_DECISIONS = 5_000
#: Checks whose outcome depends on nothing but the caller and the target. Others, such as HTTP checks, are asked each time.
_PURE = (_checks.TrueCheck, _checks.FalseCheck, _checks.RoleCheck, _checks.GenericCheck)


class Enforcer(policy.Enforcer):
    """Checks the policy files for changes once in a while: to do so before each answer costs several times the answer.

    What is wrong after the first time changes nothing: the rules that were read last stay in force.
    """

    _look_at = -math.inf

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(conf)
        self._decisions: dict[Any, bool] = {}
        self._files = files.Files(conf)
        self._looking = threading.Lock()
        self._texts: dict[Any, str] | None = None
        self._trouble = ''

    def load_rules(self, force_reload: bool = False) -> None:
        """Load the policy files if they have changed. Look at them every ``LOOK_EVERY`` seconds at most, unless forced.

        :raises ValueError: they cannot be read the first time.
        """
        if self._texts is None or force_reload:
            with self._looking:
                self._reload(force=force_reload)
        elif time.monotonic() >= self._look_at and self._looking.acquire(blocking=False):
            try:
                self._reload()
            finally:
                self._looking.release()

    def _reload(self, *, force: bool = False) -> None:
        self._look_at = time.monotonic() + LOOK_EVERY
        trouble = ''
        try:
            texts = self._files.texts(self._texts)
            if force or texts != self._texts:
                self._put_in_force(files.parse(texts))
                self._texts = texts
        except files.Unsettled:
            self._look_at = time.monotonic() + files.SETTLED
            return
        except ValueError as bad:
            if self._texts is None:
                raise
            trouble = str(bad)
        if trouble and trouble != self._trouble:
            LOG.error('[oslo_policy] policy_file: %s. The rules that were read before stay in force', trouble)
        elif self._trouble and not trouble:
            LOG.info('[oslo_policy] policy_file: the policy files are whole again')
        self._trouble = trouble
        self._decisions = {}  # rules may ask for more than is kept with a decision, such as a file

    def _put_in_force(self, checks: dict[str, Any]) -> None:
        """Replace all rules at once: no request may find the files' without the defaults, which are denied then."""
        rules = policy.Rules.from_dict(checks)
        self.file_rules = {name: policy.RuleDefault(name, check) for name, check in checks.items()}
        for default in self.registered_rules.values():
            if default.name not in rules:
                rules[default.name] = (
                    self._handle_deprecated_rule(default) if default.deprecated_rule else default.check
                )
        self.set_rules(rules)
        self.check_rules()

    def set_rules(self, *args: Any, **kwargs: Any) -> None:
        """Set rules, and forget the decisions of the old ones."""
        super().set_rules(*args, **kwargs)
        # A new object: a thread that still evaluates an old rule must not add its decision to the new ones.
        self._decisions = {}

    def decide(self, rule: str, caller: Any, target: dict[str, Any], *, own: bool) -> bool:
        """Say whether a rule allows something to a caller, a context. Decisions are kept until the files are checked again.

        ``own``: the target is what the caller's own resources are; otherwise it is empty.
        """
        self.load_rules()
        decisions, key = self._decisions, (rule, own, caller.credentials())
        decision = decisions.get(key)
        if decision is None:
            decision = bool(self.enforce(rule, target, caller.to_policy_values()))
            if self._is_pure(self.rules.get(rule)):
                if len(decisions) >= _DECISIONS:
                    decisions.clear()
                decisions[key] = decision
        return decision

    def _is_pure(self, check: Any) -> bool:
        if isinstance(check, _checks.AndCheck | _checks.OrCheck):
            return all(map(self._is_pure, check.rules))
        if isinstance(check, _checks.NotCheck):
            return self._is_pure(check.rule)
        if isinstance(check, _checks.RuleCheck):
            return self._is_pure(self.rules.get(check.match))
        return isinstance(check, _PURE)

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
