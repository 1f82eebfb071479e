# SPDX-License-Identifier: Apache-2.0
"""Placing share groups: on a pool that satisfies every share type of the group, and its group type."""

import dataclasses
from collections.abc import Callable
from typing import Any

from oslo_log import log

from manila_lite import errors, extra_specs, states
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_group_type_specs, share_type_extra_specs
from manila_lite.db.queries import share_groups, share_server_queries
from manila_lite.db.queries.messages import Action
from manila_lite.engine import PLACE, Plan, Step, Work, backend_of, nothing
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.share_groups import CreateGroup
from manila_lite.scheduler.interface import PlacementRequest, PoolState
from manila_lite.workflow.verbs import verb_plan

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
        with work.writer() as conn:
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
        dataclasses.replace(
            verb_plan(
                'share_group.create',
                CreateGroup,
                states.SHARE_GROUP,
                'create',
                Step(place),
                action=Action.ALLOCATE_HOST,
                told=('error',),
            ),
            done=nothing,
        ),
        # Backends hold nothing of a group.
        verb_plan(
            'share_group.delete',
            OperationData,
            states.SHARE_GROUP,
            'delete',
            Step(nothing, name=PLACE),
            action=Action.DELETE,
            told=('end',),
        ),
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
