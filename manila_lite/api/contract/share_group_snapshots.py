# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshots of share groups."""

from manila_lite import errors, states
from manila_lite.api.contract import fields, shapes
from manila_lite.api.contract.call import Body, Field, Many, One, Plain
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import ID, NAME, TIME
from manila_lite.api.contract.share_group_types import group_op as _op
from manila_lite.api.contract.share_groups import COMMON_FILTERS
from manila_lite.api.v2 import share_group_snapshots as v2
from manila_lite.policies import share_group_snapshots as rules
from manila_lite.policies import share_groups

_TEXT = {'type': 'string'}
_STATUS = {'type': 'string', 'enum': sorted(states.SHARE_GROUP_SNAPSHOT.statuses)}
_INTEGER = {'type': 'integer'}

MEMBERS = {
    'type': 'array',
    'items': fields.document(
        {
            'id': ID,
            'share_group_snapshot_id': ID,
            'share_id': ID,
            'name': NAME,
            'status': _STATUS,
            'project_id': _TEXT,
            'size': _INTEGER,
            'share_size': _INTEGER,
            'share_proto': _TEXT,
            'share_protocol': _TEXT,
            'created_at': TIME,
        }
    ),
}

SNAPSHOT = View(
    'share_group_snapshot',
    'share_group_snapshots',
    (
        Field('id', ID),
        Field('name', NAME),
        Field('created_at', TIME),
        Field('status', _STATUS),
        Field('description', NAME),
        Field('project_id', _TEXT),
        Field('share_group_id', ID),
        Field('members', MEMBERS, read=v2.members_of),
    ),
    'share-group-snapshots',
)
SUMMARY = View(
    'share_group_snapshot',
    'share_group_snapshots',
    (Field('id', ID), Field('name', NAME)),
    'share-group-snapshots',
)

#: A key to sort by that is a field of the group.
_BESIDE = (*SNAPSHOT.fields, Field('host', _TEXT, rule=share_groups.LIST_BY_HOST))

_NAMES = (Field('name', NAME), Field('description', NAME))
CREATE = (Field('share_group_id', shapes.REFERENCE, required=True), *_NAMES)
FILTERS = (Field('share_group_id', _TEXT), *COMMON_FILTERS)

_ONE = '/share-group-snapshots/{share_group_snapshot_id}'
_ACTION = f'{_ONE}/action'
_MISSING = errors.Unprocessable

OPS = [
    _op(
        'GET',
        '/share-group-snapshots',
        v2.index,
        rules.GET_ALL,
        Many(SUMMARY, paged=True, beside=_BESIDE),
        query=FILTERS,
    ),
    _op(
        'GET',
        '/share-group-snapshots/detail',
        v2.detail,
        rules.GET_ALL,
        Many(SNAPSHOT, paged=True, beside=_BESIDE),
        query=FILTERS,
    ),
    _op('GET', _ONE, v2.ROWS.named('show'), rules.GET, One(SNAPSHOT)),
    _op('GET', f'{_ONE}/members', v2.members, rules.GET, Plain(MEMBERS, 'share_group_snapshot_members')),
    _op(
        'POST',
        '/share-group-snapshots',
        v2.create,
        rules.CREATE,
        One(SNAPSHOT),
        ok=202,
        body=Body('share_group_snapshot', CREATE, missing=_MISSING),
        once=True,
    ),
    _op(
        'PUT',
        _ONE,
        v2.ROWS.named('update'),
        rules.UPDATE,
        One(SNAPSHOT),
        body=Body('share_group_snapshot', _NAMES, missing=_MISSING),
    ),
    _op('DELETE', _ONE, v2.ROWS.named('delete'), rules.DELETE, ok=202),
    _op('POST', _ACTION, v2.ROWS.named('force_delete'), rules.FORCE_DELETE, ok=202, action='force_delete'),
    _op(
        'POST',
        _ACTION,
        v2.ROWS.named('reset_status'),
        rules.RESET_STATUS,
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', _TEXT, required=True),)),
    ),
]
