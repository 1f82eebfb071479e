# SPDX-License-Identifier: Apache-2.0
"""Policy rules that are different in a test."""

from collections.abc import Mapping
from typing import Any

import fixtures


class PolicyRules(fixtures.Fixture):
    """Checks, by rule, that replace those of an enforcer until the end of the test."""

    def __init__(self, enforcer: Any, checks: Mapping[str, Any]):
        super().__init__()
        self._enforcer = enforcer
        self._checks = dict(checks)

    def _setUp(self) -> None:
        self.addCleanup(self._set, {name: self._enforcer.rules[name] for name in self._checks})
        self._set(self._checks)

    def _set(self, checks: dict[str, Any]) -> None:
        self._enforcer.set_rules(checks, overwrite=False, use_conf=True)
