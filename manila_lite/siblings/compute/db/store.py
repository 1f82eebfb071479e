# SPDX-License-Identifier: Apache-2.0
"""All SQL of the compute service, except for grants and the common tables. Statuses are written by ``db.transitions`` only."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import timeutils, uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors
from manila_lite.db import models as common
from manila_lite.db.core import transitions
from manila_lite.db.core.database_clock import AS_OF
from manila_lite.db.core.engine import insert_ignore
from manila_lite.db.core.paging import Page
from manila_lite.db.core.savepoints import savepoint
from manila_lite.db.queries import operations
from manila_lite.db.queries.services import is_up
from manila_lite.siblings.compute.db import models
from manila_lite.siblings.compute.states import ATTACHMENT, SERVER

_servers = models.servers
_addresses = models.server_addresses
_attachments = models.share_attachments
_hosts = models.hosts
_services = common.services
_operations = common.operations
_events = models.server_events
_images = models.server_images

transitions.register(SERVER, _servers)
transitions.register(ATTACHMENT, _attachments)

BINARY = 'mlite-compute'


# Hosts ----------------------------------------------------------------------------------------


def save_host_report(conn: Connection, host: str, **values: Any) -> None:
    """Store a host's report about itself, with the present time."""
    values = {**values, 'reported_at': timeutils.utcnow()}
    if not conn.execute(_hosts.update().where(_hosts.c.host == host).values(**values)).rowcount:
        insert_ignore(conn, _hosts, {'host': host, **values})


def host_report(conn: Connection, name: str) -> Row[Any] | None:
    """Return the report of a host, or None."""
    return conn.execute(sa.select(_hosts).where(_hosts.c.host == name)).first()


def best_host(
    conn: Connection,
    down_time: float,
    networks: Iterable[str] = (),
    images: Collection[str] = (),
    *,
    shares: bool = False,
) -> str | None:
    """Return the living host with the fewest servers among those on all these networks, or None.

    Hosts with all of the operator's images that are named come first, and with ``shares`` also hosts that can attach shares.
    """
    needed = set(networks)
    count = sa.select(sa.func.count()).where(_servers.c.host == _hosts.c.host).scalar_subquery()
    rows = conn.execute(
        sa.select(
            _hosts.c.host,
            _hosts.c.networks,
            _hosts.c.images,
            _hosts.c.virtiofs,
            _hosts.c.shared_memory,
            _services.c.heartbeat_at,
            _services.c.stopped,
            AS_OF,
        )
        .join(_services, sa.and_(_services.c.host == _hosts.c.host, _services.c.binary == BINARY))
        .where(_services.c.disabled.is_(False))
        .order_by(count, _hosts.c.host)
    )
    able = [row for row in rows if is_up(row, down_time) and needed <= set(row.networks or ())]

    def lacks(row: Row[Any]) -> tuple[bool, bool]:
        return not set(images) <= set(row.images or ()), shares and not (row.virtiofs and row.shared_memory)

    return min(able, key=lacks).host if able else None  # the first of equals has the fewest servers


# Servers --------------------------------------------------------------------------------------


def server(conn: Connection, server_id: str, project_id: str | None = None) -> Row[Any]:
    """Return a server, of this project if one is given.

    :raises errors.NotFound: there is none.
    """
    query = sa.select(_servers).where(_servers.c.id == server_id)
    if project_id is not None:
        query = query.where(_servers.c.project_id == project_id)
    row = conn.execute(query).first()
    if row is None:
        raise errors.NotFound(f'Instance {server_id} could not be found.', code='server_not_found')
    return row


def find_server(conn: Connection, server_id: str) -> Row[Any] | None:
    """Return a server, or None."""
    return conn.execute(sa.select(_servers).where(_servers.c.id == server_id)).first()


_SORTS = {'created_at': _servers.c.created_at}


def servers(
    conn: Connection,
    page: Page,
    project_id: str | None = None,
    name: str | None = None,
    statuses: Iterable[str] | None = None,
) -> list[Row[Any]]:
    """Return servers, newest first. ``name``: only those whose name contains it."""
    query = sa.select(_servers)
    if project_id is not None:
        query = query.where(_servers.c.project_id == project_id)
    if name is not None:
        query = query.where(_servers.c.name.contains(name, autoescape=True))
    if statuses is not None:
        query = query.where(_servers.c.status.in_(tuple(statuses)))
    return list(conn.execute(page.apply(query, _SORTS, tie=_servers.c.id)))


def count_servers(conn: Connection, project_id: str) -> int:
    """Return the number of servers of a project."""
    return conn.execute(sa.select(sa.func.count()).where(_servers.c.project_id == project_id)).scalar() or 0


def servers_of_host(conn: Connection, name: str) -> list[Row[Any]]:
    """Return the servers of a host."""
    return list(conn.execute(sa.select(_servers).where(_servers.c.host == name)))


def lock_in_status(conn: Connection, server_id: str, status: str) -> bool:
    """Say whether the server is in this status; it stays in it until the transaction ends."""
    return bool(transitions.settle(conn, SERVER, (server_id,), status, status))


def update_server(conn: Connection, server_id: str, **values: Any) -> None:
    """Set values of a server, but not its status."""
    conn.execute(_servers.update().where(_servers.c.id == server_id).values(**values))


def taken_addresses(conn: Connection, network: str) -> set[str]:
    """Return the addresses in use on a network."""
    return set(conn.execute(sa.select(_addresses.c.address).where(_addresses.c.network == network)).scalars())


def take_address(conn: Connection, server_id: str, network: str, address: str, mac: str) -> bool:
    """Give the server the IP address and the MAC address; return False if another server has one of them."""
    return insert_ignore(
        conn,
        _addresses,
        {
            'id': uuidutils.generate_uuid(),
            'server_id': server_id,
            'network': network,
            'address': address,
            'mac': mac,
        },
    )


def free_addresses(conn: Connection, server_id: str) -> None:
    """Free the addresses of the server."""
    conn.execute(_addresses.delete().where(_addresses.c.server_id == server_id))


# Images ---------------------------------------------------------------------------------------


def public_images(conn: Connection) -> set[str]:
    """Return the names of the operators' images on all hosts."""
    return {name for names in conn.execute(sa.select(_hosts.c.images)).scalars() for name in names or ()}


def images(conn: Connection, project_id: str) -> list[Row[Any]]:
    """Return the images made of a project's servers, unfinished ones too, by name."""
    return list(
        conn.execute(sa.select(_images).where(_images.c.project_id == project_id).order_by(_images.c.name))
    )


def find_image(conn: Connection, image_id: str) -> Row[Any] | None:
    """Return an image by its id, or None."""
    return conn.execute(sa.select(_images).where(_images.c.id == image_id)).first()


def reserve_image(conn: Connection, row: Any, name: str) -> str:
    """Reserve a name in the server's project for an unfinished image; return the image's id.

    :raises errors.Exists: the project has an image of that name.
    """
    image_id = uuidutils.generate_uuid()
    if not insert_ignore(
        conn,
        _images,
        {'id': image_id, 'project_id': row.project_id, 'name': name, 'host': row.host, 'server_id': row.id},
    ):
        raise errors.Exists(f'There is an image {name} already.', code='image_exists')
    return image_id


def set_image_ready(conn: Connection, image_id: str) -> None:
    """Mark the image as complete."""
    conn.execute(_images.update().where(_images.c.id == image_id).values(ready=True))


def delete_image(conn: Connection, image_id: str) -> None:
    """Delete the row of an image."""
    conn.execute(_images.delete().where(_images.c.id == image_id))


def delete_unfinished_images(conn: Connection, server_id: str) -> None:
    """Delete the rows of unfinished images of a server."""
    conn.execute(_images.delete().where(_images.c.server_id == server_id, _images.c.ready.is_(False)))


# Attachments ----------------------------------------------------------------------------------


def attachments(conn: Connection, server_ids: Sequence[str]) -> list[Row[Any]]:
    """Return the attachments of these servers, oldest first."""
    return list(
        conn.execute(
            sa.select(_attachments)
            .where(_attachments.c.server_id.in_(tuple(server_ids)))
            .order_by(_attachments.c.created_at, _attachments.c.id)
        )
    )


def attachment(conn: Connection, server_id: str, share_id: str) -> Row[Any]:
    """Return the attachment of a share to a server.

    :raises errors.NotFound: there is none.
    """
    row = conn.execute(
        sa.select(_attachments).where(
            _attachments.c.server_id == server_id, _attachments.c.share_id == share_id
        )
    ).first()
    if row is None:
        raise errors.NotFound(
            f'Share {share_id} is not attached to server {server_id}.', code='share_attachment_not_found'
        )
    return row


def find_attachment(conn: Connection, attachment_id: str) -> Row[Any] | None:
    """Return an attachment by its own id, or None."""
    return conn.execute(sa.select(_attachments).where(_attachments.c.id == attachment_id)).first()


def attach(conn: Connection, **values: Any) -> dict[str, Any]:
    """Insert an attachment that is being made.

    :raises errors.Exists: the share is attached already, or the tag is used.
    """
    try:
        with savepoint(conn):
            return transitions.create(conn, ATTACHMENT, {'id': uuidutils.generate_uuid(), **values}, 'attach')
    except db_exception.DBDuplicateEntry:
        raise _exists(conn, values) from None


def _exists(conn: Connection, values: Mapping[str, Any]) -> errors.Exists:
    """Return the error that says which of the two unique keys is in the way."""
    there = attachments(conn, (values['server_id'],))
    if any(one.share_id == values['share_id'] for one in there):
        return errors.Exists(
            f'Share {values["share_id"]} is already attached to server {values["server_id"]}.',
            code='share_attachment_exists',
        )
    return errors.Exists(
        f'tag: {values["tag"]} is used by another share of server {values["server_id"]}.',
        code='share_tag_in_use',
    )


def update_attachment(conn: Connection, attachment_id: str, **values: Any) -> None:
    """Set values of an attachment, but not its status."""
    conn.execute(_attachments.update().where(_attachments.c.id == attachment_id).values(**values))


def note_fault_in_use(conn: Connection, attachment_id: str, fault: str | None) -> None:
    """Set the fault of an attachment that is active still; its own operations write the faults of others."""
    conn.execute(
        _attachments.update()
        .where(_attachments.c.id == attachment_id, _attachments.c.status == 'active')
        .values(fault=fault)
    )


def attachments_of_host(conn: Connection, host_name: str) -> list[Row[Any]]:
    """Return every attachment of a host, each with ``server_status`` of its server."""
    return list(
        conn.execute(
            sa.select(_attachments, _servers.c.status.label('server_status'))
            .join(_servers, _servers.c.id == _attachments.c.server_id)
            .where(_attachments.c.host == host_name)
        )
    )


def levels_of_grant(conn: Connection, grant_id: str) -> list[str]:
    """Return the level of each attachment that needs a grant: always rw."""
    return [
        'rw' for _ in conn.execute(sa.select(_attachments.c.id).where(_attachments.c.grant_id == grant_id))
    ]


def holder(conn: Connection, attachment: Row[Any]) -> str:
    """Return the server of an attachment, and the user and the request that attached the share, for the reason of a lock."""
    asked = conn.execute(
        sa.select(_events.c.user_id, _events.c.request_id)
        .where(
            _events.c.server_id == attachment.server_id,
            _events.c.event == 'share_attach',
            _events.c.message == f'share {attachment.share_id}',
        )
        .order_by(_events.c.created_at.desc())
    ).first()
    who = f' (user {asked.user_id}, request {asked.request_id})' if asked is not None else ''
    return f'server {attachment.server_id}{who}'


def holder_of_grant(conn: Connection, grant_id: str) -> str | None:
    """Return the same for the oldest attachment with a grant; None if there is none."""
    row = conn.execute(
        sa.select(_attachments)
        .where(_attachments.c.grant_id == grant_id)
        .order_by(_attachments.c.created_at, _attachments.c.id)
    ).first()
    return None if row is None else holder(conn, row)


# Work -----------------------------------------------------------------------------------------


def with_open_operation(conn: Connection, resource_ids: Iterable[str]) -> set[str]:
    """Return those of the resources that have an open operation."""
    return set(
        conn.execute(
            sa.select(_operations.c.resource_id).where(
                _operations.c.resource_id.in_(tuple(resource_ids)), _operations.c.state == operations.OPEN
            )
        ).scalars()
    )


def purge_events(conn: Connection, older_than: Any) -> None:
    """Delete events that are older than this time."""
    conn.execute(_events.delete().where(_events.c.created_at < older_than))


def add_event(conn: Connection, row: Any, what: str, message: str | None = None, ctx: Any = None) -> None:
    """Record an event of a server: a request, or a change of its state."""
    conn.execute(
        _events.insert().values(
            id=uuidutils.generate_uuid(),
            server_id=row.id,
            project_id=row.project_id,
            event=what,
            message=message,
            user_id=getattr(ctx, 'user_id', None),
            request_id=getattr(ctx, 'request_id', None),
        )
    )


def events(conn: Connection, server_id: str, limit: int) -> list[Row[Any]]:
    """Return the events of a server, newest first."""
    return list(
        conn.execute(
            sa.select(_events)
            .where(_events.c.server_id == server_id)
            .order_by(_events.c.created_at.desc(), _events.c.id)
            .limit(limit)
        )
    )
