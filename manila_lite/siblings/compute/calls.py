# SPDX-License-Identifier: Apache-2.0
"""Functions for the calls of the compute API: parsed request in, row out."""

import hashlib
from typing import Any

from manila_lite import errors
from manila_lite.api.framework.call import Field, View
from manila_lite.api.framework.handlers import Part
from manila_lite.api.request import Request
from manila_lite.siblings import shares as share_service
from manila_lite.siblings.compute import actions, attachments, networks, policies
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.states import SHOWN

#: Maximum number of events listed for a server.
_EVENTS = 200


class NotOffered(errors.ManilaLiteError):
    """There is no such thing here."""

    code = 'not_offered'


def view(key: str, plural: str, fields: tuple[Field, ...]) -> View:
    """Return a view; servers have links."""
    return View(key, plural, fields, collection='servers' if plural == 'servers' else None)


def host_id(row: Any) -> str:
    """Return an id that tells hosts apart for a project, without naming them."""
    return hashlib.sha224(f'{row.project_id}{row.host}'.encode()).hexdigest()


def index(req: Request) -> list[Any]:
    """Return servers of the project, or of all projects."""
    query = req.query
    everybody = bool(query.get('all_tenants')) and req.may(policies.ALL_TENANTS)
    if query.get('all_tenants') and not everybody:
        raise errors.Forbidden('all_tenants: only administrators may see the servers of all projects.')
    statuses = None
    if 'status' in query:
        statuses = [status for status, shown in SHOWN.items() if shown.status == query['status'].upper()]
    with req.ctx.db.reader() as conn:
        return store.servers(
            conn, req.page, None if everybody else req.ctx.project_id, query.get('name'), statuses
        )


def show(req: Request) -> Any:
    """Return a server."""
    with req.ctx.db.reader() as conn:
        return store.server(conn, req.params['server_id'], None if req.ctx.is_admin else req.ctx.project_id)


#: The server of the path, for calls that begin something.
SERVER = Part('path', 'server_id', show)


def ips(req: Request) -> Any:
    """Return the addresses of a server."""
    return networks.shown(show(req).spec.get('nics', ()), whole=False)


def reboot(req: Request) -> None:
    """Reboot a server."""
    actions.begin(req.ctx, show(req), 'reboot' if req.body['type'] == 'soft' else 'hard_reboot')


def refuse(req: Request) -> None:
    """Refuse a call that no server supports.

    :raises errors.Conflict: the server has shares. :raises NotOffered: it has none.
    """
    actions.must_have_no_shares(req.ctx, show(req))
    raise NotOffered('This compute service does not support this action.')


def events(req: Request) -> list[Any]:
    """Return the events of a server."""
    row = show(req)
    with req.ctx.db.reader() as conn:
        return store.events(conn, row.id, _EVENTS)


# Shares ---------------------------------------------------------------------------------------


def shares(req: Request) -> list[Any]:
    """Return the share attachments of a server."""
    row = show(req)
    with req.ctx.db.reader() as conn:
        return store.attachments(conn, (row.id,))


def attachment(req: Request) -> Any:
    """Return the attachment of a share."""
    row = show(req)
    with req.ctx.db.reader() as conn:
        return store.attachment(conn, row.id, req.params['share_id'].lower())


def attach(req: Request) -> Any:
    """Attach a share to a server, and return the attachment."""
    who = share_service.caller(req.raw.headers)
    share_id = req.body['share_id']
    return attachments.attach(req.ctx, who, show(req), share_id, req.body.get('tag') or share_id)


def detach(req: Request) -> None:
    """Detach a share from a server."""
    attachments.detach(req.ctx, show(req), req.params['share_id'].lower())
