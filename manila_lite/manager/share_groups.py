# SPDX-License-Identifier: Apache-2.0
"""Share groups at the backend that they were placed on: a share server, and the shares that a group begins with."""

from typing import Any

from manila_lite import errors, states
from manila_lite.db import share_groups, transitions
from manila_lite.db.engine import Connection
from manila_lite.db.messages import Action, Detail
from manila_lite.manager import servers
from manila_lite.manager.task import tell
from manila_lite.operations import Plan, Step, Work
from manila_lite.rpc import notices

#: Seconds between looks at shares that are being made.
_LOOK_AGAIN = 0.5


def row(conn: Connection, work: Work) -> Any:
    """Return the group that the operation is about.

    :raises errors.Final: it is gone.
    """
    found = share_groups.by_id(conn, work.resource_id)
    if found is None:
        raise errors.Final(f'Share group {work.resource_id} is gone.')
    return found


def _zone(conn: Connection, group: Any) -> str | None:
    return group.availability_zone_id


def _put(conn: Connection, group: Any, server_id: str) -> None:
    share_groups.update(conn, group.id, share_server_id=server_id)


_SEAT = servers.Seat(_zone, lambda group: 0, _put)


def provide(work: Work) -> None:
    """The group has a share server, if its shares are to be in a share network: all of them will be there."""
    with work.ctx.db.reader() as conn:
        group = row(conn, work)
    if group.share_network_id:
        servers.serve(work, row, _SEAT)


def fill(work: Work) -> None:
    """The shares that the group begins with, of a snapshot of another, are available.

    :raises errors.Again: some are being made.
    :raises errors.Final: one could not be made.
    """
    with work.ctx.db.reader() as conn:
        found = share_groups.shares_of(conn, work.resource_id)
    if any(share.status == states.SHARE['create'].during for share in found):
        raise errors.Again(_LOOK_AGAIN)
    if bad := [share.id for share in found if share.status == states.SHARE['create'].fail]:
        raise errors.Final(f'{len(bad)} of the {len(found)} shares of the group could not be made: {", ".join(bad)}.')


def created(conn: Connection, work: Work) -> None:
    """The group is available."""
    transitions.finish(conn, states.SHARE_GROUP, 'create', work.resource_id)
    notices.emit(work.ctx, 'share_group.create.end', {'share_group_id': work.resource_id}, work.op.host)


def not_created(conn: Connection, work: Work, error: Exception) -> None:
    """The group is in error, and its owner is told why."""
    transitions.fail(conn, states.SHARE_GROUP, 'create', work.resource_id)
    tell(conn, work, 'SHARE_GROUP', Action.CREATE, Detail.UNKNOWN_ERROR, error)
    notices.emit(work.ctx, 'share_group.create.error', {'share_group_id': work.resource_id, 'error': errors.told(error)},
                 work.op.host)


PLANS = [Plan('share_group.create', (Step(provide), Step(fill)), created, not_created)]
