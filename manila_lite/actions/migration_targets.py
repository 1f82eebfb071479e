# SPDX-License-Identifier: Apache-2.0
"""The destination of a migration: a backend or pool, and the share network there."""

import re
from collections.abc import Mapping
from typing import Any

from manila_lite import engine, errors, extra_specs
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import services, share_networks

_HOST = re.compile(r'[^@#\s]+@[^@#\s]+(#[^#\s]+)?')
#: Options of a request to migrate.
OPTIONS = ('writable', 'nondisruptive', 'preserve_snapshots')
#: The host of the destination has to copy, or it may, if the driver cannot move the resource.
MUST, MAY = 'must', 'may'


class Move:
    """A resource that is to move to the backend or pool ``to``, with these ``options``.

    ``by_itself``: the copy takes over as soon as it is made, without a request to complete. ``evacuation``: the id of the
    operation that evacuates the backend, if the move is a part of it. ``assist``: whether the host of the destination
    copies: it must (``MUST``), it may if the driver cannot (``MAY``), or it does not (None).
    """

    to: str
    options: Mapping[str, bool]
    by_itself: bool
    evacuation: str | None
    assist: str | None

    @property
    def host(self) -> str:
        """The backend of ``to``: ``host@backend``."""
        return engine.backend_of(self.to)


def backend(conn: Connection, ctx: RequestContext, to: str) -> Row[Any]:
    """Return the service of the backend that ``to`` names, or whose pool it names.

    :raises errors.NotFound: there is no such backend.
    :raises errors.Invalid: it is not enabled, or is down and not only being restarted.
    """
    if not _HOST.fullmatch(to):
        raise errors.NotFound(
            f'host: {to!r} is not a backend; give host@backend or host@backend#pool.',
            code='backend_not_found',
        )
    try:
        row = services.get(conn, engine.backend_of(to), 'manila-share')
    except errors.NotFound:
        raise errors.NotFound(f'host: there is no backend {to}.', code='backend_not_found') from None
    if row.disabled or not services.is_running(row, ctx.conf):
        raise errors.Invalid(
            f'host: the backend {to} is {"disabled" if row.disabled else "down"}.', code='backend_down'
        )
    return row


def check_network(conn: Connection, ctx: RequestContext, project_id: str, network_id: str) -> None:
    """Refuse a share network that the project's resource cannot move into.

    :raises errors.Invalid: the project has no such share network.
    :raises errors.WrongState: the network is not active.
    """
    try:
        network = share_networks.get(conn, ctx, network_id)
    except errors.NotFound:
        raise errors.Invalid(f'new_share_network_id: there is no share network {network_id}.') from None
    if network.project_id != project_id:
        raise errors.Invalid(f'new_share_network_id: share network {network_id} is of another project.')
    if network.status != 'active':
        raise errors.WrongState(f'Share network {network_id} is {network.status}, not active.')


def objection_of_zone(type_name: str, specs: Mapping[str, str], service: Row[Any]) -> str | None:
    """Return why the share type is not offered in the zone of the service, or None. ``specs``: its extra specs."""
    if extra_specs.is_offered(specs, service.zone):
        return None
    return f'Share type {type_name} is for zones {", ".join(extra_specs.zones(specs))}; {service.host} is in {service.zone}.'
