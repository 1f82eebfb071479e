# SPDX-License-Identifier: Apache-2.0
"""Placing share groups: on a pool that satisfies every share type of the group, and its group type."""

from collections.abc import Callable
from typing import Any

from oslo_log import log

from manila_lite import errors, extra_specs, states
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_group_type_specs, share_type_extra_specs
from manila_lite.db.queries import messages, share_groups, share_server_queries
from manila_lite.engine import PLACE, Plan, Step, Work, backend_of
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.share_groups import CreateGroup
from manila_lite.rpc import notifications
from manila_lite.scheduler.interface import PlacementRequest, PoolState

LOG = log.getLogger(__name__)

#: The group spec of group types, and the capability of pools that answers it.
_ASKED, _REPORTED = 'consistent_snapshot_support', 'sg_consistent_snapshot_support'
#: Snapshots at one moment across a whole backend are at one moment in each of its pools, too.
_EITHER = '<or> host <or> pool'


def place_of(group: Any) -> str | None:
    """Return where a group's shares are placed: on its pool if consistent snapshots are per pool, else on its backend."""
    if group is None or group.host is None:
        return None
    return str(group.host) if group.consistent_snapshot_support == 'pool' else backend_of(group.host)


def plans(choose: Callable[[Connection, Work[Any], PlacementRequest], PoolState]) -> list[Plan[Any]]:
    """Return the plans. ``choose`` finds the best pool for a request."""

    def place(work: Work[CreateGroup]) -> None:
        """Choose a pool for the group, and pass the operation on to its backend.

        :raises errors.NoValidHost: no pool is suitable.
        :raises errors.Again: a backend that just started may yet report one.
        """
        with work.ctx.db.writer() as conn:
            work.hold(conn)
            group = share_groups.find(conn, work.resource_id)
            if group is None:
                raise errors.Final(f'Share group {work.resource_id} is gone.')
            chosen = choose(conn, work, _request(conn, work, group))
            share_groups.update(
                conn,
                group.id,
                host=chosen.host,
                availability_zone_id=chosen.availability_zone_id,
                consistent_snapshot_support=chosen.capabilities.get(_REPORTED) or None,
            )
            work.send = ('share', chosen.host)
            LOG.info('%s: share group, placed on %s', group.id, chosen.host)

    return [
        Plan('share_group.create', (Step(place),), _no_end, not_placed, data=CreateGroup),
        Plan('share_group.delete', (Step(_nothing, name=PLACE),), removed, not_removed, data=OperationData),
    ]


def _request(conn: Connection, work: Work[CreateGroup], group: Any) -> PlacementRequest:
    kinds = share_groups.share_types_of(conn, (group.id,)).get(group.id, [])
    specs = key_values.of_many(conn, share_type_extra_specs, kinds)
    first, *others = [specs.get(kind, {}) for kind in kinds] or [{}]
    return PlacementRequest(
        size=0,
        proto='',
        project_id=group.project_id,
        extra_specs=first,
        also=(
            *others,
            _of_group_type(key_values.of(conn, share_group_type_specs, group.share_group_type_id)),
        ),
        availability_zone=work.data.zone,
        subnets=share_server_queries.subnets_of_request(
            conn, group.share_network_id, named=work.data.named_subnets
        ),
    )


def _of_group_type(specs: dict[str, str]) -> dict[str, str]:
    """Return group specs as extra specs. Consistent snapshots are asked for under the name of the pools' capability."""
    asked_for = {key: text for key, text in specs.items() if key != _ASKED}
    if consistency := _consistency(specs.get(_ASKED, 'false').strip()):
        asked_for[_REPORTED] = consistency
    return asked_for


def _consistency(asked: str) -> str | None:
    """Return the extra spec for a group spec: none for no, and a text without meaning as it is, since no pool satisfies it."""
    try:
        return _EITHER if asked == 'pool' or extra_specs.is_true(asked, strict=True) else None
    except ValueError:
        return asked


def not_placed(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Set the group to error, and tell its owner which filter refused it and why."""
    transitions.fail(conn, states.SHARE_GROUP, 'create', work.resource_id)
    messages.create(
        conn,
        work.ctx,
        'SHARE_GROUP',
        work.resource_id,
        messages.Action.ALLOCATE_HOST,
        messages.Detail.of(error),
        errors.user_text(error),
    )
    notifications.emit(
        work.ctx,
        'share_group.create.error',
        {'share_group_id': work.resource_id, 'error': errors.reason(error, work.ctx.request_id)},
        '',
    )


def _nothing(work: Work[Any]) -> None:
    """Do nothing: backends hold nothing of a group."""


def removed(conn: Connection, work: Work[Any]) -> None:
    """Delete the group's row."""
    transitions.finish(conn, states.SHARE_GROUP, 'delete', work.resource_id)
    notifications.emit(work.ctx, 'share_group.delete.end', {'share_group_id': work.resource_id}, '')


def not_removed(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Keep the group, so that it can be deleted again, and tell its owner why it is not deleted."""
    transitions.fail(conn, states.SHARE_GROUP, 'delete', work.resource_id)
    messages.create(
        conn,
        work.ctx,
        'SHARE_GROUP',
        work.resource_id,
        messages.Action.DELETE,
        messages.Detail.UNKNOWN_ERROR,
        errors.user_text(error),
    )


def _no_end(conn: Connection, work: Work[Any]) -> None:
    """Do nothing: operations that were passed on end elsewhere."""
