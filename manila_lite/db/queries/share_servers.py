# SPDX-License-Identifier: Apache-2.0
"""Share servers: rows with the name of their network. Their subnets are read by server ids in one more statement."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context, states
from manila_lite.db import models
from manila_lite.db.core import key_values, paging, transitions
from manila_lite.db.core.rows import get_row

_servers = models.share_servers
_networks = models.share_networks
_mappings = models.share_server_share_network_subnet_mappings


def select() -> sa.Select[Any]:
    """Return the SELECT of share server rows."""
    return sa.select(*_servers.c, _networks.c.project_id, _networks.c.name.label('share_network_name')).join(
        _networks, _networks.c.id == _servers.c.share_network_id
    )


def get(conn: Connection, server_id: str) -> Row[Any]:
    """Return a share server of any project.

    :raises errors.NotFound: there is none.
    """
    return get_row(conn, select().where(_servers.c.id == server_id), 'share server', server_id)


def get_visible(conn: Connection, ctx: context.RequestContext, server_id: str) -> Row[Any]:
    """Return a share server in a network of the caller's project (of any, for an administrator).

    :raises errors.NotFound: there is none.
    """
    mine = [] if ctx.is_admin else [_networks.c.project_id == ctx.project_id]
    return get_row(conn, select().where(_servers.c.id == server_id, *mine), 'share server', server_id)


_EQUAL = {
    **{
        name: _servers.c[name]
        for name in (
            'id',
            'host',
            'status',
            'source_share_server_id',
            'identifier',
            'task_state',
            'share_network_id',
            'encryption_key_ref',
        )
    },
    'project_id': _networks.c.project_id,
}


def list_servers(
    conn: Connection, filters: dict[str, Any], *, project_id: str | None = None
) -> list[Row[Any]]:
    """Return share servers of a project (None: of all), newest first. ``share_network`` is an id or a name."""
    query = select().where(*paging.conditions(filters, _EQUAL, _EQUAL, (), project_id))
    if filters.get('share_network') is not None:
        query = query.where(
            sa.or_(_networks.c.id == filters['share_network'], _networks.c.name == filters['share_network'])
        )
    if filters.get('share_network_subnet_id') is not None:
        query = query.where(
            sa.exists().where(
                _mappings.c.share_server_id == _servers.c.id,
                _mappings.c.share_network_subnet_id == filters['share_network_subnet_id'],
            )
        )
    return list(conn.execute(query.order_by(_servers.c.created_at.desc(), _servers.c.id.desc())))


def subnets_of(conn: Connection, server_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the ids of the subnets that servers are in, by server id, sorted."""
    subnet_ids: dict[str, list[str]] = defaultdict(list)
    for row in conn.execute(
        sa.select(_mappings)
        .where(_mappings.c.share_server_id.in_(tuple(server_ids)))
        .order_by(_mappings.c.share_server_id, _mappings.c.share_network_subnet_id)
    ):
        subnet_ids[row.share_server_id].append(row.share_network_subnet_id)
    return subnet_ids


def count(conn: Connection, network_id: str) -> int:
    """Return how many servers a share network has."""
    return conn.execute(
        sa.select(sa.func.count()).where(_servers.c.share_network_id == network_id)
    ).scalar_one()


def details(conn: Connection, server_id: str) -> dict[str, str]:
    """Return the values that the driver stored for the server."""
    return key_values.of(conn, models.share_server_details, server_id)


#: Identifiers of fewer characters say too little: "nas1" is another server than "nas10".
_TELLING = 8


def find_by_identifier(conn: Connection, identifier: str) -> Row[Any] | None:
    """Return the server with that identifier at its backend, or None.

    Backends add something to identifiers, or write them with other separators. So, as in Manila, an identifier is also that
    of a server if one is a part of the other.
    """
    wanted = _plain(identifier)
    for server_id, known in conn.execute(sa.select(_servers.c.id, _servers.c.identifier)):
        if any(_is_alike(wanted, _plain(text)) for text in (server_id, known) if text):
            return get(conn, server_id)
    return None


def _plain(identifier: str) -> str:
    return identifier.replace('_', '-')


def _is_alike(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= _TELLING and shorter in longer)


def insert(conn: Connection, values: dict[str, Any], subnet_ids: Iterable[str], verb: str = 'create') -> None:
    """Insert a server in these subnets of its network, with the transient status of the verb."""
    transitions.create(conn, states.SHARE_SERVER, values, verb)
    conn.execute(
        _mappings.insert(),
        [{'share_server_id': values['id'], 'share_network_subnet_id': subnet_id} for subnet_id in subnet_ids],
    )
