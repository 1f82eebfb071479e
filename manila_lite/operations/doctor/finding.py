# SPDX-License-Identifier: Apache-2.0
"""One thing that is not as it is in the end, and what a mender has at hand."""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

from manila_lite import context
from manila_lite.db.engine import Connection
from manila_lite.operations.begin import Wake


@dataclasses.dataclass
class Desk:
    """What is at hand: the process's services, the time of the look, and the wake-ups to send after the commit."""

    services: context.Services
    now: datetime.datetime
    wakes: list[Wake] = dataclasses.field(default_factory=list)

    def age(self, since: datetime.datetime | None) -> float | None:
        """Return the seconds since then; none where another host's clock is ahead."""
        return None if since is None else max((self.now - since).total_seconds(), 0.0)

    def owner(self, row: Any, request_id: str | None = None) -> context.RequestContext:
        """Return the context of a resource's owner, with the product's rights."""
        return context.RequestContext(
            user_id=row.user_id, project_id=row.project_id, request_id=request_id, resource_uuid=row.id, is_admin=True,
            roles=['admin', 'member', 'reader'], services=self.services, overwrite=False)


#: Set in the data of an operation that was begun again after it was parked: the second time it ends as failed.
BEFORE = 'begun_again'

#: Mends it in the transaction given; returns what was done in words, or nothing if it moved by itself meanwhile.
Mend = Callable[[Connection, Desk], str | None]


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that is not in a terminal state. ``wrong``: it will not end by itself, or not as it should.

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
        """Return it as plain values; ``mendable`` says whether there is something to do here."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != 'mend'}
        return {**found, 'mendable': self.mend is not None}
