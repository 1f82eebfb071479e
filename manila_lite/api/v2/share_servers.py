# SPDX-License-Identifier: Apache-2.0
"""The calls for share servers."""

from typing import Any

from manila_lite import errors, states
from manila_lite.actions import encryption
from manila_lite.actions import share_servers as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import Body, Call, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, act, field, flag, path
from manila_lite.api.request import Request
from manila_lite.db.queries import share_servers

#: Reads the ids of the server's subnets.
subnets_of = related.reader('subnets', [])
_load_subnets = related.loader('subnets', share_servers.subnets_of)


def first_subnet(row: Any, req: Request) -> str | None:
    """Read the server's first subnet, for versions below 2.70, which show only one."""
    return next(iter(subnets_of(row, req)), None)


def network_name(row: Any, req: Request) -> str:
    """Read the name of the server's network, or its id if it has no name."""
    return str(row.share_network_name or row.share_network_id)


def _shown(req: Request, server_id: str) -> Any:
    with req.ctx.db.reader() as conn:
        row = share_servers.get_visible(conn, req.ctx, server_id)
        _load_subnets(conn, req, [row])
        req.related['details'] = {row.id: share_servers.details(conn, row.id)}
    return row


def index(req: Request) -> list[Any]:
    """List share servers."""
    with req.ctx.db.reader() as conn:
        project_id = None if req.ctx.is_admin else req.ctx.project_id or ''
        rows = (
            []
            if related.finds_nothing(req)
            else share_servers.list_servers(conn, req.query, project_id=project_id)
        )
        _load_subnets(conn, req, rows)
    return rows


def show(req: Request) -> Any:
    """Show one share server."""
    return _shown(req, req.params['share_server_id'])


def details(req: Request) -> dict[str, str]:
    """Show the details that the backend stores for a share server."""
    with req.ctx.db.reader() as conn:
        row = share_servers.get_visible(conn, req.ctx, req.params['share_server_id'])
        return share_servers.details(conn, row.id)


# Fields and calls -------------------------------------------------------------------------------

_STATUS = {'type': 'string', 'enum': sorted(states.SHARE_SERVER.statuses)}
_IDS = {'type': 'array', 'items': shapes.ID}

_FIELDS = (
    Field('id', shapes.ID),
    Field('project_id', shapes.STRING),
    Field('updated_at', shapes.NULL_TIME),
    Field('status', _STATUS),
    Field('host', shapes.STRING),
    Field('share_network_id', shapes.ID),
    Field('share_network_name', shapes.STRING, read=network_name),
    Field('is_auto_deletable', shapes.BOOLEAN, since='2.49'),
    Field('identifier', shapes.NULL_STRING, since='2.49'),
    Field('share_network_subnet_id', shapes.NULL_STRING, since='2.51', until='2.69', read=first_subnet),
    Field('share_network_subnet_id', _IDS, since='2.70', read=subnets_of),
    Field('share_network_subnet_ids', _IDS, since='2.70', read=subnets_of),
    Field('task_state', shapes.NULL_STRING, since='2.57'),
    Field('source_share_server_id', shapes.NULL_STRING, since='2.57'),
    Field('security_service_update_support', shapes.BOOLEAN, since='2.63'),
    Field('network_allocation_update_support', shapes.BOOLEAN, since='2.70'),
    Field('encryption_key_ref', shapes.NULL_STRING, since='2.90'),
)
LISTED = View('share_server', 'share_servers', _FIELDS)
SERVER = View(
    'share_server',
    'share_servers',
    (
        *_FIELDS,
        Field('created_at', shapes.TIME),
        Field('backend_details', shapes.PAIRS, read=related.reader('details', {})),
    ),
)

FILTERS = (
    *(
        Field(name, shapes.STRING)
        for name in ('id', 'host', 'status', 'project_id', 'share_network_id', 'share_network')
    ),
    Field('identifier', shapes.STRING, since='2.49'),
    Field('share_network_subnet_id', shapes.STRING, since='2.51'),
    Field('source_share_server_id', shapes.STRING, since='2.57'),
    Field('task_state', shapes.STRING, since='2.57'),
    Field('encryption_key_ref', shapes.STRING, since='2.90', parse=encryption.canonical_id),
)

_ONE = '/share-servers/{share_server_id}'

MANAGED = (
    Field('host', shapes.TEXT, required=True),
    Field('share_network_id', shapes.ID, required=True),
    Field('identifier', shapes.TEXT, required=True),
    Field('share_network_subnet_id', shapes.NULL_REFERENCE, since='2.51', empty_is_null=True),
    # For the driver alone, which defines the keys.
    Field(
        'driver_options',
        {
            'type': ['object', 'null'],
            'additionalProperties': {'type': ['string', 'number', 'boolean', 'null'], 'maxLength': 1023},
        },
    ),
)

CALLS = [
    Call('GET', '/share-servers', index, 'share_server:index', Many(LISTED), query=FILTERS),
    Call('GET', _ONE, show, 'share_server:show', One(SERVER)),
    Call('GET', f'{_ONE}/details', details, 'share_server:details', Plain(shapes.PAIRS, 'details')),
    Call(
        'DELETE',
        _ONE,
        act('Delete a share server that has no shares.', actions.delete, path('share_server_id')),
        'share_server:delete',
        ok=202,
        states=((errors.WrongState, 403),),
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        act(
            'Set the status of a share server.',
            actions.reset_status,
            path('share_server_id'),
            field('status'),
        ),
        'share_server:reset_status',
        ok=202,
        action='reset_status',
        since='2.49',
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
    Call(
        'POST',
        '/share-servers/manage',
        act('Manage an existing share server of a backend.', actions.manage, BODY, then=_shown),
        'share_server:manage_share_server',
        One(SERVER),
        ok=202,
        since='2.49',
        body=Body('share_server', MANAGED, missing=errors.Unprocessable),
        states=((errors.NotFound, 400), (errors.WrongState, 400)),
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        act('Unmanage a share server.', actions.unmanage, path('share_server_id'), force=flag('force')),
        'share_server:unmanage_share_server',
        ok=202,
        action='unmanage',
        since='2.49',
        body=Body('unmanage', (Field('force', shapes.FLAG, parse=shapes.flag),), optional=True),
        states=((errors.Conflict, 400),),
    ),
]
