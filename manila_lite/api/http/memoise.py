# SPDX-License-Identifier: Apache-2.0
"""Caches for introspection: pecan and oslo.policy inspect the same functions again at each request.

Measured: four fifths of a small request. Both shims replace a private name, in one function each, and
``tests/unit/api/http/test_memoise.py`` fails when a new release of either no longer calls the replaced function.
"""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import pecan.core
import pecan.decorators
import pecan.rest
import pecan.routing
import pecan.util
from oslo_policy import _checks as _policy_checks

_checks: Any = _policy_checks  # it exports no "inspect"
#: Functions in a cache: far more than any program has controllers and checks.
REMEMBERED = 4096


def install() -> None:
    """Install both caches. May be called twice."""
    memoise_pecan()
    memoise_policy()


def memoise_pecan() -> None:
    """Cache the arguments of controllers for every module of pecan that asks for them."""
    stock = pecan.util.getargspec
    if hasattr(stock, 'remembers'):
        return
    memo = cached(stock)
    for module in (pecan.core, pecan.decorators, pecan.rest, pecan.routing, pecan.util):
        if getattr(module, 'getargspec', None) is stock:
            module.getargspec = memo


def memoise_policy() -> None:
    """Cache the arguments of oslo.policy's checks, once for each class instead of each node of a rule and request."""
    if isinstance(_checks.inspect, _Inspect):
        return
    _checks.inspect = _Inspect()


class _Inspect(types.ModuleType):
    """The module ``inspect`` as one other module sees it, with one cached function."""

    def __init__(self) -> None:
        super().__init__('inspect')
        self.getfullargspec = cached(inspect.getfullargspec)

    def __getattr__(self, name: str) -> Any:
        return getattr(inspect, name)


def cached(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``stock`` with a cache for plain functions and methods; other arguments are not cached.

    The answer for a bound method is the one for its function, ``self`` included, so instances share it.
    """
    known = functools.lru_cache(maxsize=REMEMBERED)(stock)

    @functools.wraps(stock)
    def ask(asked: Any) -> Any:
        kind = type(asked)
        if kind is types.MethodType:
            asked = asked.__func__
            kind = type(asked)
        return known(asked) if kind is types.FunctionType else stock(asked)

    ask.remembers = known  # type: ignore[attr-defined]
    return ask
