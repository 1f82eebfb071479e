# SPDX-License-Identifier: Apache-2.0
"""The calls for access rules: actions of a share in old versions, resources of their own from 2.45 on."""

from manila_lite import errors, states
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Field, Many, One, Plain
from manila_lite.api.contract.fields import STRING, View
from manila_lite.api.contract.shapes import ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import access as v2
from manila_lite.api.v2.related import pairs_of
from manila_lite.policies import access as rules

_STATE = {'type': 'string', 'enum': ['new', *sorted(states.ACCESS.statuses)]}
_LEVELS = ['rw', 'ro']

SUMMARY_FIELDS = (
    Field('id', ID),
    Field('access_type', STRING),
    Field('access_to', STRING, read=v2.to_of),
    Field('access_level', {'type': 'string', 'enum': _LEVELS}),
    Field('state', _STATE, read=v2.state_of),
    Field('access_key', NULL_STRING, since='2.21', read=v2.key_of),
    Field('created_at', TIME, since='2.33'),
    Field('updated_at', NULL_TIME, since='2.33'),
    Field('metadata', shapes.PAIRS, since='2.45', read=pairs_of),
)

ACCESS = View('access', 'access_list', (Field('share_id', ID), *SUMMARY_FIELDS))
#: Rules in a list do not name their share: the request named it.
SUMMARY = View('access', 'access_list', SUMMARY_FIELDS)

ALLOW = (
    Field('access_type', {'type': 'string', 'enum': ['ip', 'user', 'cert']}, until='2.12', required=True),
    Field(
        'access_type',
        {'type': 'string', 'enum': ['ip', 'user', 'cert', 'cephx']},
        since='2.13',
        required=True,
    ),
    Field('access_to', {'type': 'string', 'maxLength': 255}, required=True),
    Field('access_level', {'type': ['string', 'null'], 'enum': [*_LEVELS, None]}),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}, since='2.45'),
    Field('lock_visibility', shapes.NULL_FLAG, since='2.82', parse=shapes.flag),
    Field('lock_deletion', shapes.NULL_FLAG, since='2.82', parse=shapes.flag),
    Field('lock_reason', {'type': ['string', 'null'], 'maxLength': 1023}, since='2.82'),
)

DENY = (
    Field('access_id', {'type': 'string', 'minLength': 1}, required=True),
    # Deny the rule even if it is locked, and delete its locks.
    Field('unrestrict', shapes.NULL_FLAG, since='2.82', parse=shapes.flag),
)

FILTERS = (
    Field('share_id', STRING),
    Field('metadata', STRING, parse=shapes.pairs),
    Field('access_type', STRING, since='2.82'),
    Field('access_to', STRING, since='2.82'),
    Field('access_level', STRING, since='2.82'),
    Field('access_key', STRING, since='2.82'),
)

_BUSY = ((errors.WrongState, 400),)
_ACTION = '/shares/{share_id}/action'
_RULE = '/share-access-rules/{access_id}'

OPS = [
    Call(
        'POST',
        _ACTION,
        v2.allow,
        rules.ALLOW,
        One(ACCESS),
        action='allow_access',
        body=Body('allow_access', ALLOW, strict=True),
        once=True,
    ),
    Call(
        'POST',
        _ACTION,
        v2.deny,
        rules.DENY,
        ok=202,
        action='deny_access',
        states=_BUSY,
        body=Body('deny_access', DENY, strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        v2.list_of_share,
        rules.ACTION_LIST,
        Many(SUMMARY),
        action='access_list',
        until='2.44',
    ),
    Call(
        'GET',
        '/share-access-rules',
        v2.index,
        rules.INDEX,
        Many(SUMMARY, beside=ACCESS.fields),
        since='2.45',
        query=FILTERS,
        states=((errors.NotFound, 400),),
    ),
    Call('GET', _RULE, v2.show, rules.GET, One(ACCESS), since='2.45'),
    Call(
        'PUT',
        _RULE,
        v2.update,
        rules.UPDATE,
        One(ACCESS),
        since='2.88',
        states=_BUSY,
        body=Body(
            'update_access', (Field('access_level', {'type': 'string', 'enum': _LEVELS}, required=True),)
        ),
    ),
    Call(
        'PUT',
        f'{_RULE}/metadata',
        v2.set_metadata,
        rules.UPDATE_METADATA,
        Plain(shapes.PAIRS, 'metadata'),
        since='2.45',
        body=Body('metadata', free=shapes.METADATA),
    ),
    Call('DELETE', f'{_RULE}/metadata/{{key}}', v2.delete_metadata, rules.DELETE_METADATA, since='2.45'),
]
