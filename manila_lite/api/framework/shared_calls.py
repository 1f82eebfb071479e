# SPDX-License-Identifier: Apache-2.0
"""The base of calls that several resource types have in common."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite.api.request import Request


@dataclasses.dataclass(frozen=True)
class SharedCalls:
    """Calls of one resource type, as methods. ``{self...}`` in their docstrings is filled in for documents.

    ``resource_type``: the module of a resource type's own calls, such as ``shares``.
    """

    resource_type: str

    def named(self, name: str) -> Callable[[Request], Any]:
        """Return one of the calls as a function with the module and the name of the resource type."""
        method = getattr(self, name)

        def call(req: Request) -> Any:
            return method(req)

        call.__module__, call.__name__, call.__doc__ = (
            self.resource_type,
            name,
            method.__doc__.format(self=self),
        )
        return call
