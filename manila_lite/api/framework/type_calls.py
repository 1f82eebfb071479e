# SPDX-License-Identifier: Apache-2.0
"""Handlers that share types, share group types and QoS types have in common."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from manila_lite import errors
from manila_lite.actions import type_access
from manila_lite.api.framework import metadata
from manila_lite.api.framework.handlers import SharedCalls
from manila_lite.api.request import Request
from manila_lite.context import RequestContext


@dataclasses.dataclass(frozen=True)
class TypeCalls(SharedCalls):
    """Calls of types that are public, or private to projects.

    ``types``: their module of ``db/queries``. ``param``: the part of the path with their id. ``specs``: the filter by specs.
    """

    resource_name: str
    types: Any
    param: str
    specs: str

    def index(self, req: Request) -> list[Any]:
        """List {self.resource_name}s: public ones, and the private ones that the project may use. Administrators may filter."""
        public = req.query.get('is_public', True) if req.ctx.is_admin else None
        with req.ctx.db.reader() as conn:
            rows: list[Any] = self.types.list_types(
                conn, req.ctx, is_public=public, **{self.specs: req.query.get(self.specs)}
            )
        return rows

    def show(self, req: Request) -> Any:
        """Show one {self.resource_name}."""
        with req.ctx.db.reader() as conn:
            return self.types.get(conn, req.ctx, req.params[self.param])

    @property
    def _option(self) -> str:
        return f'default_{self.resource_name.replace(" ", "_")}'

    def default(self, req: Request) -> Any:
        """Show the default {self.resource_name}."""
        name = req.ctx.conf[self._option]
        if not name:
            raise errors.NotFound(
                f'No default {self.resource_name} is configured.',
                code=f'{self.resource_name.replace(" ", "_")}_not_found',
            )
        with req.ctx.db.reader() as conn:
            return self.types.find(conn, req.ctx, name)

    def is_default(self, row: Any, req: Request) -> bool:
        """Say whether a type is the default one."""
        return bool(row.name == req.ctx.conf[self._option])

    def list_access(self, req: Request) -> list[dict[str, str]]:
        """List the projects that may use a private {self.resource_name}."""
        return type_access.list_projects(req.ctx, self.types, req.params[self.param])

    def add_access(self, req: Request) -> None:
        """Allow a project to use a private {self.resource_name}."""
        type_access.add(req.ctx, self.types, req.params[self.param], req.body['project'])

    def remove_access(self, req: Request) -> None:
        """Withdraw a project's right to use a private {self.resource_name}."""
        type_access.remove(req.ctx, self.types, req.params[self.param], req.body['project'])


@dataclasses.dataclass(frozen=True)
class SpecCalls(SharedCalls):
    """Calls of the specs of a type.

    ``read`` returns the specs of the type in the path, ``change`` is the action that sets some. ``item_name``: the name of a
    spec in messages, if it is not ``spec_name``.
    """

    resource_name: str
    spec_name: str
    param: str
    read: Callable[[Request], Mapping[str, str]]
    change: Callable[[RequestContext, str, Mapping[str, Any]], dict[str, str]]
    item_name: str = ''

    def get_specs(self, req: Request) -> Mapping[str, str]:
        """Show the {self.spec_name}s of a {self.resource_name}."""
        return self.read(req)

    def set_specs(self, req: Request) -> Mapping[str, str]:
        """Set {self.spec_name}s of a {self.resource_name}."""
        return self.change(req.ctx, req.params[self.param], req.body)

    def get_spec(self, req: Request) -> dict[str, str]:
        """Show one {self.spec_name} of a {self.resource_name}."""
        return metadata.get_pair(self.read(req), req.params['key'], self.item_name or self.spec_name)

    def set_spec(self, req: Request) -> Mapping[str, str]:
        """Set one {self.spec_name} of a {self.resource_name}."""
        return self.change(req.ctx, req.params[self.param], metadata.get_pair_of_path(req))
