# SPDX-License-Identifier: Apache-2.0
"""Drivers whose calls are done by parts: a table says which part does each."""

import abc
from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import Any, TypeVar

D = TypeVar('D', bound=type)


def passes_on(calls: Mapping[str, str], *, then: str = '', after: Collection[str] = ()) -> Callable[[D], D]:
    """Have a driver class pass these calls on, each to a method of its ``parts``, such as ``shares.create``.

    ``then``: a method of the parts that is called after each of the calls in ``after``.

    :raises TypeError: the table has none of that name.
    """
    if unknown := set(after) - calls.keys():
        raise TypeError(f'not passed on: {", ".join(sorted(unknown))}')

    def complete(driver: D) -> D:
        for call, method in calls.items():
            methods = (method, then) if call in after else (method,)
            setattr(driver, call, _passed_on(*(attrgetter(f'parts.{one}') for one in methods)))
        abc.update_abstractmethods(driver)
        return driver

    return complete


def _passed_on(
    method_of: Callable[[Any], Callable[..., Any]], *ends_of: Callable[[Any], Callable[[], None]]
) -> Callable[..., Any]:
    def call(driver: Any, *given: Any, **named: Any) -> Any:
        answer = method_of(driver)(*given, **named)
        for end_of in ends_of:
            end_of(driver)()
        return answer

    return call
