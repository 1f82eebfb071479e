# SPDX-License-Identifier: Apache-2.0
"""The calls for transfers of shares from one project to another."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import share_transfers as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Always, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import CTX, act, field, flag, listing, path, read
from manila_lite.api.request import Request
from manila_lite.db.queries import share_transfers

#: The only resource type that can be transferred.
RESOURCE_TYPE = 'share'


def _none(req: Request) -> bool:
    """Say whether filters leave nothing: only shares are transferred, and a transfer with a destination is deleted."""
    return (
        req.query.get('resource_type') not in (None, RESOURCE_TYPE)
        or req.query.get('destination_project_id') is not None
    )


def create(req: Request) -> Any:
    """Offer a share for transfer to any project that knows the key of the answer."""
    row, key = actions.create(req.ctx, req.body['share_id'], req.body.get('name'))
    req.related['keys'] = {row.id: key}
    return row


# Fields and calls -------------------------------------------------------------------------------

_SINCE = '2.77'

_SHORT = (
    Field('id', shapes.ID),
    Field('name', shapes.NAME),
    Field('resource_type', {'type': 'string', 'const': RESOURCE_TYPE}, read=Always(RESOURCE_TYPE)),
    Field('resource_id', shapes.ID, read='share_id'),
)
#: An accepted transfer is deleted, so these two never change.
_LONG = (
    *_SHORT,
    Field('created_at', shapes.TIME),
    Field('expires_at', shapes.TIME),
    Field('source_project_id', shapes.STRING, read='project_id'),
    Field('destination_project_id', shapes.NULL_STRING, read=Always(None)),
    Field('accepted', shapes.BOOLEAN, read=Always(False)),
)
SUMMARY = View('transfer', 'transfers', _SHORT, 'share-transfers')
TRANSFER = View('transfer', 'transfers', _LONG, 'share-transfers')
CREATED = View(
    'transfer',
    'transfers',
    (*_LONG, Field('auth_key', shapes.STRING, read=related.reader('keys', ''))),
    'share-transfers',
)

FILTERS = (
    *(
        Field(name, shapes.STRING)
        for name in ('id', 'resource_type', 'source_project_id', 'destination_project_id')
    ),
    Field('name', shapes.STRING, aliases=('display_name',)),
    Field('resource_id', shapes.STRING, aliases=('share_id',)),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)
_ACCEPT = (
    Field('auth_key', shapes.TEXT, required=True),
    Field('clear_access_rules', shapes.NULL_FLAG, parse=shapes.flag),
)

_ONE = '/share-transfers/{transfer_id}'
_BUSY = ((errors.WrongState, 400),)

CALLS = [
    Call(
        'GET',
        '/share-transfers',
        listing(
            'List ids, names and shares of transfers.',
            share_transfers.list_transfers,
            'share_transfer:get_all_tenant',
            nothing=_none,
        ),
        'share_transfer:get_all',
        Many(SUMMARY, paged=True, beside=TRANSFER.fields),
        since=_SINCE,
        query=FILTERS,
    ),
    Call(
        'GET',
        '/share-transfers/detail',
        listing(
            'List transfers with details.',
            share_transfers.list_transfers,
            'share_transfer:get_all_tenant',
            name='detail',
            nothing=_none,
        ),
        'share_transfer:get_all_detail',
        Many(TRANSFER, paged=True),
        since=_SINCE,
        query=FILTERS,
    ),
    Call(
        'GET',
        _ONE,
        read('Show one transfer.', share_transfers.get, CTX, path('transfer_id'), name='show'),
        'share_transfer:get',
        One(TRANSFER),
        since=_SINCE,
    ),
    Call(
        'POST',
        '/share-transfers',
        create,
        'share_transfer:create',
        One(CREATED),
        ok=202,
        since=_SINCE,
        states=_BUSY,
        body=Body(
            'transfer', (Field('share_id', shapes.REFERENCE, required=True), Field('name', shapes.NAME))
        ),
    ),
    Call(
        'DELETE',
        _ONE,
        act('Withdraw a transfer.', actions.delete, path('transfer_id')),
        'share_transfer:delete',
        since=_SINCE,
    ),
    Call(
        'POST',
        f'{_ONE}/accept',
        act(
            'Accept a transfer of a share.',
            actions.accept,
            path('transfer_id'),
            field('auth_key'),
            clear_rules=flag('clear_access_rules'),
        ),
        'share_transfer:accept',
        ok=202,
        since=_SINCE,
        states=_BUSY,
        body=Body('accept', _ACCEPT),
    ),
]
