# SPDX-License-Identifier: Apache-2.0
"""Actions on security services."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import encryption, errors
from manila_lite.actions import share_server_updates
from manila_lite.context import RequestContext
from manila_lite.db.core import limits
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import quotas, security_services, share_server_queries

#: Fields that may change while share servers use the service: the servers were not told of these.
_HARMLESS = {'name', 'description'}


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any]:
    """Create a security service. Return its row.

    :raises errors.Invalid: both a server and a default site are given.
    :raises errors.OverLimit: the project has as many as it may have.
    """
    _must_not_have_server_and_site(wanted.get('server'), wanted.get('default_ad_site'))
    service_id = uuidutils.generate_uuid()
    with ctx.db.writer() as conn:
        quotas.lock(conn, ctx.project_id)
        limits.check_one_more(
            ctx.conf,
            'security_services',
            f'project {ctx.project_id}',
            security_services.count(conn, ctx.project_id),
        )
        security_services.insert(
            conn, {'id': service_id, 'project_id': ctx.project_id, **_with_encrypted_password(conn, wanted)}
        )
        return security_services.get(conn, ctx, service_id)


def _with_encrypted_password(conn: Connection, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values as they are stored, with the password encrypted."""
    return (
        {**values, 'password': encryption.encrypt(conn, values['password'])}
        if 'password' in values
        else values
    )


def _must_not_have_server_and_site(server: str | None, site: str | None) -> None:
    if server and site:
        raise errors.Invalid('default_ad_site: cannot be given together with server.')


def update(ctx: RequestContext, service_id: str, values: Mapping[str, Any]) -> Row[Any]:
    """Change values of a security service. Return its row.

    :raises errors.Forbidden: share servers use the service and more than name and description would change, or share
        networks use it and its type would change.
    :raises errors.Invalid: the service would have both a server and a default site.
    """
    with ctx.db.writer() as conn:
        _lock(conn, ctx, service_id)
        before = security_services.get(conn, ctx, service_id)
        _must_not_have_server_and_site(
            values.get('server', before.server), values.get('default_ad_site', before.default_ad_site)
        )
        if values.get('type', before.type) != before.type and security_services.networks_of(
            conn, (service_id,)
        ):
            raise errors.Forbidden(
                f'Security service {service_id} is used by share networks, so its type cannot be changed.',
                code='security_service_in_use',
            )
        if not set(values) <= _HARMLESS and security_services.count_servers(conn, service_id):
            raise errors.Forbidden(
                f'Security service {service_id} is used by share servers; only its name and '
                'description can be changed.',
                code='security_service_in_use',
            )
        if not set(values) <= _HARMLESS:
            _must_not_be_in_replacement(conn, before)
        security_services.update(conn, service_id, **_with_encrypted_password(conn, values))
        return security_services.get(conn, ctx, service_id)


def _lock(conn: Connection, ctx: RequestContext, service_id: str) -> None:
    security_services.get(conn, ctx, service_id)
    if not security_services.lock(conn, service_id):
        raise errors.NotFound.of('security service', service_id)


def _must_not_be_in_replacement(conn: Connection, row: Row[Any]) -> None:
    """Refuse a service while share servers are changing to another one: their backend may still need it."""
    if share_server_queries.has_open_operation(
        conn, row.project_id, share_server_updates.SECURITY_SERVICE.do
    ):
        raise errors.Forbidden(
            'Share servers of the project are being updated with another security service; wait until '
            'they are active.',
            code='security_service_in_use',
        )


def delete(ctx: RequestContext, service_id: str) -> None:
    """Delete a security service.

    :raises errors.Forbidden: share networks use the service.
    """
    with ctx.db.writer() as conn:
        _lock(conn, ctx, service_id)
        networks = security_services.networks_of(conn, (service_id,)).get(service_id)
        if networks:
            raise errors.Forbidden(
                f'Security service {service_id} is used by share networks {", ".join(networks)}.',
                code='security_service_in_use',
            )
        _must_not_be_in_replacement(conn, security_services.get(conn, ctx, service_id))
        security_services.delete(conn, service_id)
