# SPDX-License-Identifier: Apache-2.0
"""Handlers for share networks: from the parsed request to an action or a query, and back."""

from collections.abc import Callable
from typing import Any

from manila_lite.actions import share_network_security_services as service_actions
from manila_lite.actions import share_network_subnets as subnet_actions
from manila_lite.actions import share_networks as actions
from manila_lite.api import versions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.api.v2.row_calls import RowCalls
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_network_subnets, share_networks
from manila_lite.policies import share_networks as rules

# Reading rows -----------------------------------------------------------------------------------

#: What a user sees of a subnet in a default network: the ids that the user gave.
_WANTED = {'neutron_net_id': 'wanted_net_id', 'neutron_subnet_id': 'wanted_subnet_id'}


def subnets_of(row: Any, req: Request) -> list[Any]:
    """Read a network's subnets, loaded for all rows at once."""
    subnets: list[Any] = req.related['subnets'].get(row.id, [])
    return subnets


def first_subnet(name: str) -> Callable[[Any, Request], Any]:
    """Return a reader of one value of the only subnet that versions below 2.51 show: that for all zones, or the oldest."""

    def read(row: Any, req: Request) -> Any:
        subnets = sorted(subnets_of(row, req), key=lambda subnet: subnet.availability_zone_id is not None)
        return subnet_value(name)(subnets[0], req) if subnets else None

    return read


def subnet_value(name: str) -> Callable[[Any, Request], Any]:
    """Return a reader of one value of a subnet."""

    def read(subnet: Any, req: Request) -> Any:
        return getattr(subnet, (_WANTED.get(name) if subnet.in_default_network else None) or name)

    return read


def load_subnets(conn: Connection, req: Request, rows: list[Any]) -> None:
    """Load the subnets of these networks for the view, and their metadata if the version shows it."""
    req.related['subnets'] = share_network_subnets.of_networks(conn, [row.id for row in rows])
    load_metadata(conn, req, [subnet for subnets in req.related['subnets'].values() for subnet in subnets])


def load_metadata(conn: Connection, req: Request, subnets: list[Any]) -> None:
    """Load the metadata of these subnets for the view."""
    if req.version >= versions.SUBNET_METADATA:
        req.related['metadata'] = key_values.of_many(
            conn, models.share_network_subnet_metadata, [subnet.id for subnet in subnets]
        )


# Lists ------------------------------------------------------------------------------------------


def index(req: Request) -> list[Any]:
    """List ids and names of share networks."""
    return _list(req)


def detail(req: Request) -> list[Any]:
    """List share networks with details."""
    return _list(req, load=load_subnets)


def _list(req: Request, load: related.Load | None = None) -> list[Any]:
    return related.list_of_project(
        req,
        dict(req.query),
        rules.LIST_ALL_PROJECTS,
        rows=share_networks.list_networks,
        load=load,
        alone=True,
    )


# One share network ------------------------------------------------------------------------------

#: Calls that need no shaping.
ROWS = RowCalls(
    'share_networks', 'share network', 'share_network_id', actions, share_networks.get, load_subnets
)


def update(req: Request) -> Any:
    """Change the name or description of a share network, or the Neutron ids of its default subnet."""
    return related.loaded(
        req, actions.update(req.ctx, req.params['share_network_id'], req.body), load_subnets
    )


# Checks at backends ------------------------------------------------------------------------------


def check_subnet(req: Request) -> dict[str, Any]:
    """Check whether a subnet can be added: true, false, or null while not all backends have answered."""
    wanted = dict(req.body)
    reset = bool(wanted.pop('reset_operation', False))
    return _answer(req, subnet_actions.check(req.ctx, req.params['share_network_id'], wanted, reset=reset))


def check_new_security_service(req: Request) -> dict[str, Any]:
    """Check whether a security service can be added: true, false, or null while not all backends have answered."""
    return _check_service(req, 'add_security_service', req.body['security_service_id'], None)


def check_other_security_service(req: Request) -> dict[str, Any]:
    """Check whether a security service can replace another: true, false, or null while not all backends have answered."""
    return _check_service(
        req, 'update_security_service', req.body['new_service_id'], req.body['current_service_id']
    )


def _check_service(req: Request, operation: str, new_id: str, current_id: str | None) -> dict[str, Any]:
    answers = service_actions.check(
        req.ctx,
        req.params['share_network_id'],
        new_id,
        current_id,
        reset=bool(req.body.get('reset_operation')),
    )
    return {
        **_answer(req, answers),
        'requested_operation': {
            'operation': operation,
            'current_security_service': current_id,
            'new_security_service': new_id,
        },
    }


def _answer(req: Request, by_host: dict[str, bool | None] | None) -> dict[str, Any]:
    answers = {None} if by_host is None else set(by_host.values())
    view: dict[str, Any] = {'compatible': False if False in answers else None if None in answers else True}
    return view | ({'hosts_check_result': by_host or {}} if req.ctx.is_admin else {})


# Security services ------------------------------------------------------------------------------


def add_security_service(req: Request) -> Any:
    """Add a security service to a share network."""
    row = service_actions.add(
        req.ctx,
        req.params['share_network_id'],
        req.body['security_service_id'],
        in_use=req.version >= versions.SECURITY_SERVICES_IN_USE,
    )
    return related.loaded(req, row, load_subnets)


def update_security_service(req: Request) -> Any:
    """Replace a security service of a share network by another."""
    row = service_actions.update(
        req.ctx, req.params['share_network_id'], req.body['current_service_id'], req.body['new_service_id']
    )
    return related.loaded(req, row, load_subnets)


def remove_security_service(req: Request) -> Any:
    """Remove a security service from a share network."""
    row = service_actions.remove(req.ctx, req.params['share_network_id'], req.body['security_service_id'])
    return related.loaded(req, row, load_subnets)
