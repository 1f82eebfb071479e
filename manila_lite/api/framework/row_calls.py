# SPDX-License-Identifier: Apache-2.0
"""Handlers that show one row, or pass a request on to an action as it is."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite.api.framework import related
from manila_lite.api.framework.shared_calls import SharedCalls
from manila_lite.api.request import Request
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection


@dataclasses.dataclass(frozen=True)
class RowCalls(SharedCalls):
    """Plain calls of one resource type. A call that shapes more than this is a function of the resource type's module.

    ``param``: the part of the path with the id. ``actions``: the module of the actions. ``get``: the query of one row.
    ``load``: loads related data of rows for the view.
    """

    resource_name: str
    param: str
    actions: Any
    get: Callable[[Connection, RequestContext, str], Any]
    load: related.Load | None = None

    def show(self, req: Request) -> Any:
        """Show one {self.resource_name}."""
        with req.ctx.db.reader() as conn:
            row = self.get(conn, req.ctx, self._id(req))
            if self.load:
                self.load(conn, req, [row])
        return row

    def create(self, req: Request) -> Any:
        """Create a {self.resource_name}."""
        return self._loaded(req, self.actions.create(req.ctx, req.body))

    def update(self, req: Request) -> Any:
        """Change the name or description of a {self.resource_name}."""
        return self._loaded(req, self.actions.update(req.ctx, self._id(req), req.body))

    def delete(self, req: Request) -> None:
        """Delete a {self.resource_name}."""
        self.actions.delete(req.ctx, self._id(req))

    def force_delete(self, req: Request) -> None:
        """Delete a {self.resource_name} in any status."""
        self.actions.delete(req.ctx, self._id(req), force=True)

    def reset_status(self, req: Request) -> None:
        """Set the status of a {self.resource_name}."""
        self.actions.reset_status(req.ctx, self._id(req), req.body['status'])

    def _id(self, req: Request) -> str:
        return req.params[self.param]

    def _loaded(self, req: Request, row: Any) -> Any:
        return related.loaded(req, row, self.load) if self.load else row
