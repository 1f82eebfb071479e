# SPDX-License-Identifier: Apache-2.0
"""Plans of siblings, and the work on an operation of theirs. Its data have no class: they are ``Untyped``."""

from typing import Any

from manila_lite import engine

Plan = engine.Plan[Any]
Step = engine.Step[Any]
Work = engine.Work[Any]
