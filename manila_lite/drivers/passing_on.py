# SPDX-License-Identifier: Apache-2.0
"""Drivers whose calls are done by parts: a table says which part does each."""

import abc
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

D = TypeVar('D', bound=type)


def passes_on(calls: Mapping[str, str]) -> Callable[[D], D]:
    """Have a driver class pass these calls on, each to a method of its ``parts``, such as ``shares.create``."""

    def complete(driver: D) -> D:
        for call, method in calls.items():
            setattr(driver, call, _passed_on(attrgetter(f'parts.{method}')))
        abc.update_abstractmethods(driver)
        return driver

    return complete


def _passed_on(method_of: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    return lambda driver, *given, **named: method_of(driver)(*given, **named)
