# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor, and the context in which they are mended."""

import dataclasses
import datetime
from collections.abc import Callable, Iterable
from typing import Any

from manila_lite import context
from manila_lite.db.core.engine import Connection, Row


@dataclasses.dataclass
class RepairContext:
    """Context of one look: the process's services, and the time of the look."""

    services: context.Services
    now: datetime.datetime

    def age(self, since: datetime.datetime | None) -> float | None:
        """Return the seconds since then, 0 where another host's clock is ahead."""
        return None if since is None else max((self.now - since).total_seconds(), 0.0)

    def owner(self, row: Row[Any], request_id: str | None = None) -> context.RequestContext:
        """Return the context of a resource's owner, with administrator rights."""
        return context.RequestContext(
            user_id=row.user_id,
            project_id=row.project_id,
            request_id=request_id,
            resource_uuid=row.id,
            is_admin=True,
            roles=['admin', 'member', 'reader'],
            services=self.services,
            overwrite=False,
        )


def one_each(rows: Iterable[Row[Any]]) -> list[Row[Any]]:
    """Return one row for each resource: beside its open operation there may be parked ones."""
    chosen: dict[str, Row[Any]] = {}
    for row in rows:
        if row.id not in chosen or row.operation_state == 'open':
            chosen[row.id] = row
    return list(chosen.values())


def outlook(row: Row[Any]) -> tuple[str, bool]:
    """Return what will end the transient status of a row with its operation, and whether it will not end well."""
    if row.operation_id is None:
        return 'no operation will end this', True
    return f'see its operation {row.operation_id} ({row.operation_kind})', row.operation_state == 'parked'


#: Mends a finding in the given transaction; returns a description, or None if the resource moved by itself meanwhile.
Mend = Callable[[Connection, RepairContext], str | None]


@dataclasses.dataclass(frozen=True)
class Finding:
    """A resource or operation in no terminal state. ``wrong``: it will not end by itself, or not as it should.

    ``age`` and ``lease_left`` in seconds. ``about`` is the resource of an operation, or the host of a resource.
    """

    what: str
    id: str
    state: str
    why: str
    wrong: bool
    about: str = ''
    project_id: str | None = None
    age: float | None = None
    attempts: int | None = None
    owner: str | None = None
    lease_left: float | None = None
    error: str | None = None
    mend: Mend | None = dataclasses.field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain values. ``mendable`` says whether the doctor can mend it."""
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != 'mend'
        }
        return {**values, 'mendable': self.mend is not None}
