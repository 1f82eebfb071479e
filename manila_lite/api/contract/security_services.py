# SPDX-License-Identifier: Apache-2.0
"""The calls for security services."""

from manila_lite import errors
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import ID, NAME, NULL_TIME, TIME
from manila_lite.api.v2 import security_services as v2
from manila_lite.policies import security_services as rules

_TYPE = {'type': 'string', 'enum': ['active_directory', 'kerberos', 'ldap']}
_TEXT = {'type': 'string'}

_SHORT = (
    Field('id', ID),
    Field('name', NAME),
    Field('type', _TYPE),
    Field('status', {'type': 'string', 'const': v2.STATUS}, read=v2.status),
)
_LONG = (
    *_SHORT,
    Field('created_at', TIME),
    Field('updated_at', NULL_TIME),
    Field('project_id', _TEXT),
    *(Field(name, NAME) for name in ('description', 'dns_ip', 'server', 'domain', 'user')),
    Field('password', NAME, read=v2.password_of),
    Field('ou', NAME, since='2.44'),
    Field('default_ad_site', NAME, since='2.76'),
)
SUMMARY = View('security_service', 'security_services', _SHORT)
SERVICE = View('security_service', 'security_services', _LONG)
LISTED = View(
    'security_service',
    'security_services',
    (*_LONG, Field('share_networks', {'type': 'array', 'items': ID}, read=v2.networks_of)),
)

_VALUES = (
    *(
        Field(name, NAME)
        for name in ('name', 'description', 'dns_ip', 'server', 'domain', 'user', 'password')
    ),
    Field('ou', NAME, since='2.44'),
    Field('default_ad_site', NAME, since='2.76'),
)

FILTERS = (
    *(
        Field(name, _TEXT)
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
    Field('ou', _TEXT, since='2.44'),
    Field('default_ad_site', _TEXT, since='2.76'),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)

_ONE = '/security-services/{security_service_id}'

OPS = [
    Call(
        'GET',
        '/security-services',
        v2.index,
        rules.INDEX,
        Many(SUMMARY, paged=True, beside=LISTED.fields),
        query=FILTERS,
    ),
    Call(
        'GET', '/security-services/detail', v2.detail, rules.DETAIL, Many(LISTED, paged=True), query=FILTERS
    ),
    Call('GET', _ONE, v2.ROWS.named('show'), rules.SHOW, One(SERVICE)),
    Call(
        'POST',
        '/security-services',
        v2.ROWS.named('create'),
        rules.CREATE,
        One(SERVICE),
        body=Body(
            'security_service', (Field('type', _TYPE, required=True), *_VALUES), missing=errors.Unprocessable
        ),
    ),
    Call(
        'PUT',
        _ONE,
        v2.update,
        rules.UPDATE,
        One(SERVICE),
        body=Body('security_service', (Field('type', _TYPE), *_VALUES), missing=errors.Unprocessable),
    ),
    Call('DELETE', _ONE, v2.ROWS.named('delete'), rules.DELETE, ok=202),
]
