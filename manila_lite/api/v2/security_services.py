# SPDX-License-Identifier: Apache-2.0
"""The calls for security services."""

from typing import Any

from manila_lite import encryption, errors
from manila_lite.actions import security_services as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Always, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, CTX, act, path, read
from manila_lite.api.request import Request
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import security_services, share_networks

#: Clients show a status and filter by it; no other value ever existed.
STATUS = 'new'


def password_of(row: Any, req: Request) -> str | None:
    """Read the password. Callers who see the service may see it."""
    return encryption.decrypt(row.password)


def index(req: Request) -> list[Any]:
    """List ids, names and types of security services."""
    with req.ctx.db.reader() as conn:
        return _list(conn, req)


def detail(req: Request) -> list[Any]:
    """List security services with details."""
    with req.ctx.db.reader() as conn:
        rows = _list(conn, req)
        req.related['networks'] = security_services.networks_of(conn, [row.id for row in rows], seen=True)
    return rows


def _list(conn: Connection, req: Request) -> list[Any]:
    """Return the services. Those of a share network that is not there are a 404, as in Manila."""
    filters = dict(req.query)
    project_id = related.choose_project(req, filters, 'security_service:get_all_security_services')
    if related.finds_nothing(req) or filters.get('status') not in (None, STATUS):
        return []
    if filters.get('share_network_id') is not None:
        share_networks.get(conn, req.ctx, filters['share_network_id'])
    return security_services.list_services(conn, filters, req.page, project_id=project_id)


# Fields and calls -------------------------------------------------------------------------------

_TYPE = {'type': 'string', 'enum': ['active_directory', 'kerberos', 'ldap']}

_SHORT = (
    Field('id', shapes.ID),
    Field('name', shapes.NAME),
    Field('type', _TYPE),
    Field('status', {'type': 'string', 'const': STATUS}, read=Always(STATUS)),
)
_LONG = (
    *_SHORT,
    Field('created_at', shapes.TIME),
    Field('updated_at', shapes.NULL_TIME),
    Field('project_id', shapes.STRING),
    *(Field(name, shapes.NAME) for name in ('description', 'dns_ip', 'server', 'domain', 'user')),
    Field('password', shapes.NAME, read=password_of),
    Field('ou', shapes.NAME, since='2.44'),
    Field('default_ad_site', shapes.NAME, since='2.76'),
)
SUMMARY = View('security_service', 'security_services', _SHORT)
SERVICE = View('security_service', 'security_services', _LONG)
LISTED = View(
    'security_service',
    'security_services',
    (
        *_LONG,
        Field('share_networks', {'type': 'array', 'items': shapes.ID}, read=related.reader('networks', [])),
    ),
)

_VALUES = (
    *(
        Field(name, shapes.NAME)
        for name in ('name', 'description', 'dns_ip', 'server', 'domain', 'user', 'password')
    ),
    Field('ou', shapes.NAME, since='2.44'),
    Field('default_ad_site', shapes.NAME, since='2.76'),
)

FILTERS = (
    *(
        Field(name, shapes.STRING)
        for name in (
            'id',
            'name',
            'description',
            'type',
            'status',
            'dns_ip',
            'server',
            'domain',
            'user',
            'share_network_id',
            'project_id',
        )
    ),
    Field('ou', shapes.STRING, since='2.44'),
    Field('default_ad_site', shapes.STRING, since='2.76'),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)

_ONE = '/security-services/{security_service_id}'

CALLS = [
    Call(
        'GET',
        '/security-services',
        index,
        'security_service:index',
        Many(SUMMARY, paged=True, beside=LISTED.fields),
        query=FILTERS,
    ),
    Call(
        'GET',
        '/security-services/detail',
        detail,
        'security_service:detail',
        Many(LISTED, paged=True),
        query=FILTERS,
    ),
    Call(
        'GET',
        _ONE,
        read(
            'Show one security service.', security_services.get, CTX, path('security_service_id'), name='show'
        ),
        'security_service:show',
        One(SERVICE),
    ),
    Call(
        'POST',
        '/security-services',
        act('Create a security service.', actions.create, BODY),
        'security_service:create',
        One(SERVICE),
        body=Body(
            'security_service', (Field('type', _TYPE, required=True), *_VALUES), missing=errors.Unprocessable
        ),
    ),
    Call(
        'PUT',
        _ONE,
        act('Change a security service.', actions.update, path('security_service_id'), BODY),
        'security_service:update',
        One(SERVICE),
        body=Body('security_service', (Field('type', _TYPE), *_VALUES), missing=errors.Unprocessable),
    ),
    Call(
        'DELETE',
        _ONE,
        act('Delete a security service.', actions.delete, path('security_service_id')),
        'security_service:delete',
        ok=202,
    ),
]
