# SPDX-License-Identifier: Apache-2.0
"""Actions on the security services of a share network. For share servers in use, their backends are asked first."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import share_network_subnets as subnet_actions
from manila_lite.actions import share_server_updates
from manila_lite.context import RequestContext
from manila_lite.db.core import limits
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import security_services, share_networks, share_servers
from manila_lite.operation_data.share_servers import CheckSecurityService, UpdateSecurityService


def add(ctx: RequestContext, network_id: str, service_id: str, *, in_use: bool) -> Row[Any]:
    """Add a security service to a share network, and begin to update its share servers. Return the network's row.

    ``in_use``: allow this for a network with share servers.

    :raises errors.Forbidden: the network has share servers, and ``in_use`` is off.
    :raises errors.Conflict: the network uses this service already or another of its type, the network is not active, or
        a share server is not healthy or cannot take the service.
    """
    if not in_use:
        with ctx.db.reader() as conn:
            share_networks.get(conn, ctx, network_id)
            subnet_actions.must_have_no_servers(conn, network_id, 'no security service can be added')
    return _change(ctx, network_id, service_id, None)


def update(ctx: RequestContext, network_id: str, current_id: str, service_id: str) -> Row[Any]:
    """Replace a share network's current security service by another. Return the network's row.

    :raises errors.Conflict: as ``add``, and if the network does not use the current service, or its type differs.
    """
    return _change(ctx, network_id, service_id, current_id)


def check(
    ctx: RequestContext, network_id: str, service_id: str, current_id: str | None = None, *, reset: bool
) -> dict[str, bool | None]:
    """Ask every backend of the network's share servers whether it can add the security service.

    Return each backend's answer: yes, no or None for not yet. Callers repeat the call. ``reset``: ask again.

    :raises: as ``add`` and ``update``.
    """
    with ctx.db.reader() as conn:
        question = _examined(conn, ctx, network_id, service_id, current_id)
    return share_server_updates.ask_backends(ctx, question, reset=reset)


def _change(ctx: RequestContext, network_id: str, service_id: str, current_id: str | None) -> Row[Any]:
    with ctx.db.reader() as conn:
        question = _examined(conn, ctx, network_id, service_id, current_id)
    share_server_updates.must_be_possible(ctx, question)
    with ctx.db.writer() as conn:
        subnet_actions.must_be_active(conn, network_id)
        # Held in one order: two requests that swap the same services then do not wait for each other.
        for held_id in sorted(filter(None, (service_id, current_id))):
            if not security_services.lock(conn, held_id):
                raise errors.NotFound.of('security service', held_id)
        share_server_updates.must_be_unchanged(
            question, _examined(conn, ctx, network_id, service_id, current_id)
        )
        if current_id:
            share_networks.detach(conn, network_id, current_id)
        share_networks.attach(conn, network_id, service_id)
        share_server_updates.begin(
            conn,
            ctx,
            question,
            UpdateSecurityService(network_id=network_id, new_id=service_id, current_id=current_id),
        )
        return share_networks.get(conn, ctx, network_id)


def _examined(
    conn: Connection, ctx: RequestContext, network_id: str, service_id: str, current_id: str | None
) -> share_server_updates.UpdateCheck[CheckSecurityService]:
    network = share_networks.get(conn, ctx, network_id)
    service = security_services.get(conn, ctx, service_id)
    if service.project_id != network.project_id:
        raise errors.NotFound.of('security service', service_id)
    current = security_services.get(conn, ctx, current_id) if current_id else None
    subnet_actions.must_look_active(network)
    used = security_services.types_of(conn, network_id)
    _must_fit(network_id, service, current, used)
    if current is None:
        limits.check_one_more(
            ctx.conf, 'attached_security_services', f'share network {network_id}', len(used)
        )
    question = share_server_updates.UpdateCheck(
        share_server_updates.SECURITY_SERVICE,
        network_id,
        f'{current_id or "none"}/{service_id}',
        share_server_updates.in_use(conn, share_servers.list_servers(conn, {'share_network_id': network_id})),
        CheckSecurityService(new_id=service_id, current_id=current_id),
    )
    share_server_updates.must_be_healthy(conn, ctx, question)
    return question


def _must_fit(network_id: str, service: Row[Any], current: Any, used: dict[str, str]) -> None:
    """Refuse a second service of one type, and a replacement by another type."""
    if current is not None and current.id not in used:
        raise errors.Conflict(
            f'current_service_id: share network {network_id} does not use security service {current.id}.',
            code='security_service_not_attached',
        )
    if current is not None and current.type != service.type:
        raise errors.Conflict(
            f'new_service_id: security service {service.id} is {service.type}, and {current.id} is '
            f'{current.type}.',
            code='security_service_type_differs',
        )
    for used_id, used_type in used.items():
        if used_type == service.type and (current is None or used_id != current.id or used_id == service.id):
            raise errors.Conflict(
                f'security_service_id: share network {network_id} already uses security service {used_id} '
                f'of type {used_type}.',
                code='security_service_type_taken',
            )


def remove(ctx: RequestContext, network_id: str, service_id: str) -> Row[Any]:
    """Remove a security service from a share network. Return the network's row.

    :raises errors.Forbidden: the network has share servers.
    :raises errors.Invalid: the network does not use the service.
    """
    with ctx.db.writer() as conn:
        share_networks.get(conn, ctx, network_id)
        security_services.get(conn, ctx, service_id)
        subnet_actions.must_not_be_changing(conn, network_id)
        subnet_actions.must_have_no_servers(conn, network_id, 'no security service can be removed')
        if not share_networks.detach(conn, network_id, service_id):
            raise errors.Invalid(
                f'security_service_id: share network {network_id} does not use security service '
                f'{service_id}.',
                code='security_service_not_attached',
            )
        return share_networks.get(conn, ctx, network_id)
