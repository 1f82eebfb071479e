# SPDX-License-Identifier: Apache-2.0
"""Handlers for pools, for administrators. They read the table that backends report to; no scheduler is asked."""

from collections.abc import Callable
from typing import Any

from manila_lite.actions import pools as actions
from manila_lite.api.request import Request
from manila_lite.values import pools


def part(name: str) -> Callable[[Any, Request], str]:
    """Return a reader of one part of ``host@backend#pool``."""
    return lambda row, req: actions.parts_of_host(row.host)[name]


def capabilities_of(row: Any, req: Request) -> dict[str, Any]:
    """Read the pool's capabilities and capacity, as share types can require them."""
    return pools.capabilities(row)


def index(req: Request) -> list[Any]:
    """List the names of pools."""
    return actions.list_pools(req.ctx, req.query)


def detail(req: Request) -> list[Any]:
    """List pools with details."""
    return actions.list_pools(req.ctx, req.query)
