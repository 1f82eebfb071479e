# SPDX-License-Identifier: Apache-2.0
"""The calls for transfers of shares from one project to another."""

from manila_lite import errors
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One
from manila_lite.api.contract.fields import Always, View
from manila_lite.api.contract.shapes import BOOLEAN, ID, NAME, NULL_STRING, TIME
from manila_lite.api.v2 import share_transfers as v2
from manila_lite.policies import share_transfers as rules

_TEXT = {'type': 'string'}
_SINCE = '2.77'

_SHORT = (
    Field('id', ID),
    Field('name', NAME),
    Field('resource_type', {'type': 'string', 'const': v2.RESOURCE_TYPE}, read=Always(v2.RESOURCE_TYPE)),
    Field('resource_id', ID, read='share_id'),
)
#: An accepted transfer is deleted, so these two never change.
_LONG = (
    *_SHORT,
    Field('created_at', TIME),
    Field('expires_at', TIME),
    Field('source_project_id', _TEXT, read='project_id'),
    Field('destination_project_id', NULL_STRING, read=Always(None)),
    Field('accepted', BOOLEAN, read=Always(False)),
)
SUMMARY = View('transfer', 'transfers', _SHORT, 'share-transfers')
TRANSFER = View('transfer', 'transfers', _LONG, 'share-transfers')
CREATED = View('transfer', 'transfers', (*_LONG, Field('auth_key', _TEXT, read=v2.key_of)), 'share-transfers')

FILTERS = (
    *(Field(name, _TEXT) for name in ('id', 'resource_type', 'source_project_id', 'destination_project_id')),
    Field('name', _TEXT, aliases=('display_name',)),
    Field('resource_id', _TEXT, aliases=('share_id',)),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)
_ACCEPT = (
    Field('auth_key', shapes.TEXT, required=True),
    Field('clear_access_rules', shapes.NULL_FLAG, parse=shapes.flag),
)

_ONE = '/share-transfers/{transfer_id}'
_BUSY = ((errors.WrongState, 400),)

OPS = [
    Call(
        'GET',
        '/share-transfers',
        v2.index,
        rules.GET_ALL,
        Many(SUMMARY, paged=True, beside=TRANSFER.fields),
        since=_SINCE,
        query=FILTERS,
    ),
    Call(
        'GET',
        '/share-transfers/detail',
        v2.detail,
        rules.GET_ALL_DETAIL,
        Many(TRANSFER, paged=True),
        since=_SINCE,
        query=FILTERS,
    ),
    Call('GET', _ONE, v2.show, rules.GET, One(TRANSFER), since=_SINCE),
    Call(
        'POST',
        '/share-transfers',
        v2.create,
        rules.CREATE,
        One(CREATED),
        ok=202,
        since=_SINCE,
        states=_BUSY,
        body=Body('transfer', (Field('share_id', shapes.REFERENCE, required=True), Field('name', NAME))),
    ),
    Call('DELETE', _ONE, v2.delete, rules.DELETE, since=_SINCE),
    Call(
        'POST',
        f'{_ONE}/accept',
        v2.accept,
        rules.ACCEPT,
        ok=202,
        since=_SINCE,
        states=_BUSY,
        body=Body('accept', _ACCEPT),
    ),
]
