# SPDX-License-Identifier: Apache-2.0
"""Projects that may use private share types and private share group types."""

import dataclasses
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from sqlalchemy.engine import Connection

from manila_lite import errors


@dataclasses.dataclass(frozen=True)
class Projects:
    """Access of projects to types of one kind. ``types`` are public or not; ``table`` has a row per project and private type.

    ``code``: the error code for changing the projects of a public type.
    """

    resource_name: str
    types: sa.Table
    table: sa.Table
    code: str

    @property
    def name(self) -> str:
        """The prefix of fields and codes."""
        return self.resource_name.replace(' ', '_')

    @property
    def _type(self) -> sa.ColumnElement[str]:
        return self.table.c[f'{self.name}_id']

    def can_use(self, project_id: Any) -> sa.ColumnElement[bool]:
        """Return the condition that a project may use a type."""
        mine = sa.exists().where(self._type == self.types.c.id, self.table.c.project_id == project_id)
        return sa.or_(self.types.c.is_public, mine)

    def listed(self, project_id: Any, is_public: bool | None) -> list[sa.ColumnElement[bool]]:
        """Return the conditions of a list: of public types (the private ones of the project are among them), of private ones,
        or of all if ``is_public`` is None.
        """
        if is_public is None:
            return []
        return [self.can_use(project_id) if is_public else ~self.types.c.is_public]

    def of(self, conn: Connection, type_id: str) -> list[str]:
        """Return the ids of the projects that may use a private type."""
        return list(
            conn.execute(
                sa.select(self.table.c.project_id)
                .where(self._type == type_id)
                .order_by(self.table.c.project_id)
            ).scalars()
        )

    def add(self, conn: Connection, type_id: str, project_id: str) -> None:
        """Let the project use the type.

        :raises errors.Exists: it may already.
        """
        try:
            conn.execute(self.table.insert().values({f'{self.name}_id': type_id, 'project_id': project_id}))
        except db_exception.DBDuplicateEntry:
            raise errors.Exists(
                f'project: {project_id} has access to {self.resource_name} {type_id} already.'
            ) from None

    def remove(self, conn: Connection, type_id: str, project_id: str) -> None:
        """End the project's use of the type.

        :raises errors.NotFound: it may not use it.
        """
        if not conn.execute(
            self.table.delete().where(self._type == type_id, self.table.c.project_id == project_id)
        ).rowcount:
            raise errors.NotFound(
                f'Project {project_id} has no access to {self.resource_name} {type_id}.',
                code=f'{self.name}_access_not_found',
            )
