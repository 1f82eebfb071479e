# SPDX-License-Identifier: Apache-2.0
"""Pecan and oslo.policy inspect the same functions again at each request; here they remember the answer.

Measured: four fifths of a small request. Both shims replace a private name, in one function each, and
``tests/unit/api/test_memoise.py`` fails when a new release of either no longer asks there.
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
from oslo_policy import _checks

#: Functions remembered: far more than any program has controllers and checks.
REMEMBERED = 4096


def install() -> None:
    """Requests no longer pay for introspection. May be called twice."""
    memoise_pecan()
    memoise_policy()


def memoise_pecan() -> None:
    """Every module of pecan that asks for the arguments of a controller gets a remembered answer."""
    stock = pecan.util.getargspec
    if hasattr(stock, 'remembers'):
        return
    memo = remember(stock)
    for module in (pecan.core, pecan.decorators, pecan.rest, pecan.routing, pecan.util):
        if getattr(module, 'getargspec', None) is stock:
            module.getargspec = memo


def memoise_policy() -> None:
    """oslo.policy asks once per class of check for its arguments, not once per node of a rule and request."""
    if isinstance(_checks.inspect, _Inspect):
        return
    _checks.inspect = _Inspect()


class _Inspect(types.ModuleType):
    """The module ``inspect`` as one other module sees it, with one function that remembers."""

    def __init__(self):
        super().__init__('inspect')
        self.getfullargspec = remember(inspect.getfullargspec)

    def __getattr__(self, name: str) -> Any:
        return getattr(inspect, name)


def remember(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``stock`` with a memory for plain functions and methods; all else is asked anew.

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

    ask.remembers = known       # type: ignore[attr-defined]
    return ask
