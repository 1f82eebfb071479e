# SPDX-License-Identifier: Apache-2.0
"""Share groups at the backend that they were placed on: their share server, and the shares that they begin with."""

from typing import Any

from manila_lite import errors, states
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_groups
from manila_lite.db.queries.messages import Action
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import share_servers
from manila_lite.operation_data.share_groups import CreateGroup
from manila_lite.workflow.verbs import verb_plan

#: Seconds between looks at shares that are being created.
_LOOK_AGAIN = 0.5


def row(conn: Connection, work: Work[Any]) -> Any:
    """Return the row of the operation's group.

    :raises errors.Final: it is gone.
    """
    group = share_groups.find(conn, work.resource_id)
    if group is None:
        raise errors.Final(f'Share group {work.resource_id} is gone.')
    return group


def _zone(conn: Connection, group: Any) -> str | None:
    zone_id: str | None = group.availability_zone_id
    return zone_id


def _put(conn: Connection, group: Any, server_id: str) -> None:
    share_groups.update(conn, group.id, share_server_id=server_id)


_REQUEST = share_servers.ServerRequest(_zone, lambda group: 0, _put)


def provide(work: Work[Any]) -> None:
    """Give the group a share server, if it is in a share network. All its shares will be on that server."""
    with work.ctx.db.reader() as conn:
        group = row(conn, work)
    if group.share_network_id:
        share_servers.serve(work, row, _REQUEST)


def wait_for_shares(work: Work[Any]) -> None:
    """Wait until the shares that the group begins with, from a snapshot of another group, are available.

    :raises errors.Again: some are being created.
    :raises errors.Final: one could not be created.
    """
    with work.ctx.db.reader() as conn:
        shares = share_groups.shares_of(conn, work.resource_id)
    if any(share.status == states.SHARE['create'].during for share in shares):
        raise errors.Again(_LOOK_AGAIN)
    if bad := [share.id for share in shares if share.status == states.SHARE['create'].fail]:
        raise errors.Final(
            f'{len(bad)} of {errors.count(len(shares), "share")} of the group could not be created: '
            f'{", ".join(bad)}.'
        )


PLANS: list[Plan[Any]] = [
    verb_plan(
        'share_group.create',
        CreateGroup,
        states.SHARE_GROUP,
        'create',
        Step(provide),
        Step(wait_for_shares),
        action=Action.CREATE,
        told=('end', 'error'),
    )
]
