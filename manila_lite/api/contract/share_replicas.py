# SPDX-License-Identifier: Apache-2.0
"""The calls for share replicas."""

from typing import Any

from manila_lite import errors, states
from manila_lite.actions import share_replicas as actions
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One
from manila_lite.api.contract.fields import STRING, View
from manila_lite.api.contract.metadata import metadata_ops
from manila_lite.api.contract.shapes import BOOLEAN, ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import share_replicas as v2
from manila_lite.api.v2.export_locations import metadata_of
from manila_lite.api.v2.metadata import MetadataCalls
from manila_lite.api.v2.related import pairs_of
from manila_lite.policies import share_instances
from manila_lite.policies import share_replicas as rules
from manila_lite.policies.base import CONTEXT_IS_ADMIN

_STATE = {'type': 'string', 'enum': sorted(state.value for state in states.Replica)}

_FIRST = (
    Field('id', ID),
    Field('share_id', ID),
    Field('status', {'type': 'string', 'enum': sorted(states.SHARE.statuses)}),
    Field('replica_state', _STATE),
)
SUMMARY = View('share_replica', 'share_replicas', _FIRST)
REPLICA = View(
    'share_replica',
    'share_replicas',
    (
        *_FIRST,
        Field('availability_zone', NULL_STRING),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
        Field('share_network_id', NULL_STRING),
        Field('metadata', shapes.PAIRS, since='2.95', read=pairs_of),
        Field('share_server_id', NULL_STRING, rule=CONTEXT_IS_ADMIN),
        Field('host', NULL_STRING, rule=CONTEXT_IS_ADMIN),
        Field('cast_rules_to_readonly', BOOLEAN, since='2.30', rule=CONTEXT_IS_ADMIN),
    ),
)

_PLACE = (
    Field('id', ID),
    Field('path', STRING),
    Field('preferred', BOOLEAN),
    Field('metadata', shapes.PAIRS, since='2.87', read=metadata_of),
    Field('replica_state', _STATE, read=v2.state_of),
    Field('availability_zone', NULL_STRING, read=v2.zone_of),
    Field('share_instance_id', ID, rule=share_instances.SHOW),
    Field('is_admin_only', BOOLEAN, rule=share_instances.SHOW),
)
PLACE = View('export_location', 'export_locations', _PLACE)
PLACE_IN_FULL = View(
    'export_location',
    'export_locations',
    (*_PLACE, Field('created_at', TIME), Field('updated_at', NULL_TIME)),
)


def _pairs(text: str) -> dict[str, str]:
    """Return pairs given as ``a:b,c:d``, as python-manilaclient writes them here, or in braces as elsewhere."""
    if text.lstrip().startswith('{'):
        return shapes.pairs(text)
    hints = dict(part.strip().split(':', 1) for part in text.split(',') if ':' in part)
    if not hints:
        raise ValueError('must be key and value pairs, for instance key:value')
    return hints


CREATE = (
    Field('share_id', shapes.REFERENCE, required=True),
    Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True),
    Field(
        'scheduler_hints',
        {'type': ['object', 'null'], 'additionalProperties': False, 'properties': {'only_host': NULL_STRING}},
        since='2.67',
    ),
    Field('share_network_id', shapes.NULL_REFERENCE, since='2.72', empty_is_null=True),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}, since='2.95'),
)

FILTERS = (
    *(Field(name, STRING) for name in ('share_id', 'status', 'replica_state', 'share_network_id')),
    Field('metadata', STRING, parse=_pairs, since='2.95'),
    *PAGE,
)

_WAIT = {
    'type': ['integer', 'string', 'null'],
    'minimum': 0,
    'maximum': shapes.MAX_INT,
    'pattern': r'^[0-9]{1,10}$',
}
_ONE = '/share-replicas/{share_replica_id}'
_ACTION = f'{_ONE}/action'
_EXPORTS = f'{_ONE}/export-locations'
_BUSY = ((errors.WrongState, 400),)


def _op(*args: Any, since: str = '2.11', **more: Any) -> Call:
    return Call(*args, since=since, experimental_until='2.55', **more)  # type: ignore[misc]


OPS = [
    _op(
        'GET',
        '/share-replicas',
        v2.index,
        rules.GET_ALL,
        Many(SUMMARY, paged=True, beside=REPLICA.fields),
        query=FILTERS,
    ),
    _op('GET', '/share-replicas/detail', v2.detail, rules.GET_ALL, Many(REPLICA, paged=True), query=FILTERS),
    _op('GET', _ONE, v2.show, rules.SHOW, One(REPLICA)),
    _op(
        'POST',
        '/share-replicas',
        v2.create,
        rules.CREATE,
        One(REPLICA),
        ok=202,
        states=_BUSY,
        once=True,
        body=Body('share_replica', CREATE, missing=errors.Unprocessable),
    ),
    _op('DELETE', _ONE, v2.delete, rules.DELETE, ok=202, states=_BUSY),
    _op('POST', _ACTION, v2.force_delete, rules.FORCE_DELETE, ok=202, action='force_delete', states=_BUSY),
    _op(
        'POST',
        _ACTION,
        v2.promote,
        rules.PROMOTE,
        One(REPLICA),
        ok=202,
        or_ok=200,
        action='promote',
        states=_BUSY,
        body=Body(
            'promote', (Field('quiesce_wait_time', _WAIT, since='2.75', parse=shapes.integer),), optional=True
        ),
    ),
    _op('POST', _ACTION, v2.resync, rules.RESYNC, ok=202, or_ok=200, action='resync', states=_BUSY),
    _op(
        'POST',
        _ACTION,
        v2.reset_status,
        rules.RESET_STATUS,
        ok=202,
        action='reset_status',
        states=_BUSY,
        body=Body('reset_status', (Field('status', STRING, required=True),)),
    ),
    _op(
        'POST',
        _ACTION,
        v2.reset_replica_state,
        rules.RESET_REPLICA_STATE,
        ok=202,
        action='reset_replica_state',
        body=Body('reset_replica_state', (Field('replica_state', _STATE, required=True),)),
    ),
    _op('GET', _EXPORTS, v2.exports, rules.EXPORT_INDEX, Many(PLACE), since='2.47'),
    _op(
        'GET',
        f'{_EXPORTS}/{{replica_export_location_id}}',
        v2.export,
        rules.EXPORT_SHOW,
        One(PLACE_IN_FULL),
        since='2.47',
    ),
    *metadata_ops(
        _ONE, MetadataCalls('share_replicas', actions.METADATA, ('share_replica_id',)), rules, since='2.95'
    ),
]
