# SPDX-License-Identifier: Apache-2.0
"""A property that is found out once for each object, of a cluster that may answer late or never.

In Python 3.11 ``functools.cached_property`` has one lock for all objects of a class. Backends that run as threads of one
process would wait there for the cluster of another one. From 3.12 on it has none, and threads would make two of a kind.
"""

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_Value = TypeVar('_Value')


class computed_once(Generic[_Value]):  # noqa: N801 - it is used as a decorator
    """The decorator. Threads wait only for the one that computes the value of the same object."""

    def __init__(self, compute: Callable[[Any], _Value]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | _Value:
        """Return the value. Python does not come here again: the object has an attribute of the name then."""
        if instance is None:
            return self
        known: dict[str, Any] = vars(instance)
        with known.setdefault(f'_lock_of_{self._name}', threading.Lock()):
            if self._name not in known:
                known[self._name] = self._compute(instance)
        value: _Value = known[self._name]
        return value
