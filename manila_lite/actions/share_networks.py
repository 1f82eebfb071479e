# SPDX-License-Identifier: Apache-2.0
"""Actions on share networks that do not affect share servers. See ``network_security.py`` for the others."""

from collections.abc import Iterator, Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, states
from manila_lite.actions import network_deletion
from manila_lite.actions import share_network_subnets as subnet_actions
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import quotas, share_groups, share_network_subnets, share_networks, share_servers

_NEUTRON = ('neutron_net_id', 'neutron_subnet_id')
_IN_USE = 'share_network_in_use'
_ONLY_NAMES = 'only its name and description can be changed'


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any]:
    """Create a share network with one subnet. Return its row.

    ``wanted``: any of name, description, neutron_net_id, neutron_subnet_id, availability_zone.

    :raises errors.Invalid: see ``subnets.create``.
    :raises errors.OverQuota: see ``db/queries/quotas.py``.
    """
    subnet_values = subnet_actions.describe(ctx, wanted, ctx.project_id)
    network_id = uuidutils.generate_uuid()
    with ctx.db.writer() as conn:
        quotas.check(conn, ctx.conf, ctx.project_id, ctx.user_id, None, {'share_networks': 1})
        zone_id = subnet_actions.get_zone_id(conn, wanted.get('availability_zone'))
        transitions.create(
            conn,
            states.SHARE_NETWORK,
            {
                'id': network_id,
                'project_id': ctx.project_id,
                'user_id': ctx.user_id,
                'name': wanted.get('name'),
                'description': wanted.get('description'),
            },
        )
        subnet_actions.insert(conn, network_id, zone_id, subnet_values, {})
        return share_networks.get(conn, ctx, network_id)


def update(ctx: RequestContext, network_id: str, values: Mapping[str, Any]) -> Row[Any]:
    """Change a share network's name or description, or the Neutron ids of its default subnet. Return its row.

    :raises errors.Forbidden: there are share servers, and more than name and description would change.
    :raises errors.Invalid: there is not exactly one subnet without a zone, or see ``subnets.create``.
    """
    move = {key: values[key] for key in _NEUTRON if key in values}
    with ctx.db.reader() as conn:
        project_id = share_networks.get(conn, ctx, network_id).project_id
        if move:  # before the plugin is asked: its refusal would blame the ids
            subnet_actions.must_have_no_servers(conn, network_id, _ONLY_NAMES)
    subnet_values = subnet_actions.describe(ctx, move, project_id) if move else {}
    with ctx.db.writer() as conn:
        share_networks.get(conn, ctx, network_id)
        if move:
            subnet_actions.must_be_active(conn, network_id)
            subnet_actions.must_have_no_servers(conn, network_id, _ONLY_NAMES)
            share_network_subnets.update(conn, _default_subnet(conn, network_id).id, **subnet_values)
        share_networks.update(
            conn, network_id, **{key: values[key] for key in ('name', 'description') if key in values}
        )
        return share_networks.get(conn, ctx, network_id)


def _default_subnet(conn: Connection, network_id: str) -> Row[Any]:
    subnets = [
        subnet
        for subnet in share_network_subnets.of_network(conn, network_id)
        if subnet.availability_zone_id is None
    ]
    if len(subnets) != 1:
        raise errors.Invalid(
            f'neutron_net_id: share network {network_id} has {errors.count(len(subnets), "subnet")} '
            'without a zone, so '
            'none can be changed this way; add and delete subnets instead.',
            code='no_default_subnet',
        )
    return subnets[0]


def delete(ctx: RequestContext, network_id: str) -> None:
    """Delete a share network with its subnet.

    Unused share servers that may be deleted automatically are deleted, too; the network's row goes with the last of
    them.

    :raises errors.Conflict: the network has shares, share groups, other servers or several subnets, or is being
        changed.
    """
    with ctx.db.writer() as conn:
        share_networks.get(conn, ctx, network_id)
        subnet_actions.must_not_be_changing(conn, network_id)
        servers = share_servers.list_servers(conn, {'share_network_id': network_id})
        network_deletion.must_be_free(
            f'Share network {network_id}', _objections(conn, ctx, network_id, servers)
        )
        network_deletion.remove_unused(conn, ctx, servers)
        if servers:
            share_networks.delete_for_owner(conn, network_id)
        else:
            share_networks.delete(conn, network_id)


def _objections(
    conn: Connection, ctx: RequestContext, network_id: str, servers: list[Row[Any]]
) -> Iterator[network_deletion.Objection]:
    shares, groups = (
        share_networks.count_shares(conn, network_id),
        share_groups.count_in_network(conn, network_id),
    )
    for count, noun in ((shares, 'share'), (groups, 'share group')):
        if count:
            yield _IN_USE, f'is used by {errors.count(count, noun)}.'
    if len(share_network_subnets.of_network(conn, network_id)) > 1:
        yield 'share_network_has_subnets', 'has several subnets; delete all but one first.'
    yield from network_deletion.objections_of(conn, ctx, servers, _IN_USE, shares=not shares and not groups)


def reset_status(ctx: RequestContext, network_id: str, status: str) -> None:
    """Set a share network's status."""
    with ctx.db.writer() as conn:
        share_networks.get(conn, ctx, network_id)
        transitions.reset(conn, states.SHARE_NETWORK, network_id, status)
