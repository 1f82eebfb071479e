# SPDX-License-Identifier: Apache-2.0
"""The calls for shares."""

from manila_lite import errors, states
from manila_lite.actions import encryption, type_extra_specs
from manila_lite.actions import shares as actions
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.metadata import metadata_ops
from manila_lite.api.contract.shapes import BOOLEAN, ID, NAME, NULL_STRING, TIME
from manila_lite.api.v2 import shares as v2
from manila_lite.api.v2.metadata import MetadataCalls
from manila_lite.api.v2.related import pairs_of
from manila_lite.policies import shares as rules

_STATUS = {'type': 'string', 'enum': sorted(states.SHARE.statuses)}

FIELDS = (
    Field('id', ID),
    Field('size', {'type': 'integer'}),
    Field('availability_zone', NULL_STRING),
    Field('created_at', TIME),
    Field('status', _STATUS),
    Field('name', NAME),
    Field('description', NAME),
    Field('project_id', {'type': 'string'}),
    Field('snapshot_id', NULL_STRING),
    Field('share_network_id', NULL_STRING),
    Field('share_proto', {'type': 'string'}),
    Field('metadata', shapes.PAIRS, read=pairs_of),
    Field('share_type', NULL_STRING, until='2.5', read='share_type_name'),
    Field('share_type', NULL_STRING, since='2.6', read='share_type_id'),
    Field('share_type_name', NULL_STRING, since='2.6'),
    Field('volume_type', NULL_STRING, read='share_type_name'),
    Field('is_public', BOOLEAN),
    Field('snapshot_support', BOOLEAN, since='2.2'),
    Field('task_state', NULL_STRING, since='2.5'),
    Field('export_location', NULL_STRING, until='2.8', read=v2.first_export),
    Field(
        'export_locations', {'type': 'array', 'items': {'type': 'string'}}, until='2.8', read=v2.exports_of
    ),
    Field('access_rules_status', {'type': 'string'}, since='2.10', read=v2.rules_status),
    Field('replication_type', NULL_STRING, since='2.11'),
    Field('has_replicas', BOOLEAN, since='2.11', read=v2.has_replicas),
    Field('user_id', NULL_STRING, since='2.16'),
    Field('create_share_from_snapshot_support', BOOLEAN, since='2.24'),
    Field('revert_to_snapshot_support', BOOLEAN, since='2.27'),
    Field('share_group_id', NULL_STRING, since='2.31'),
    Field('source_share_group_snapshot_member_id', NULL_STRING, since='2.31'),
    Field('mount_snapshot_support', BOOLEAN, since='2.32'),
    Field('progress', NULL_STRING, since='2.54'),
    Field('is_soft_deleted', BOOLEAN, since='2.69'),
    Field('scheduled_to_be_deleted_at', shapes.NULL_TIME, since='2.69'),
    Field('source_backup_id', NULL_STRING, since='2.80'),
    Field('mount_point_name', NULL_STRING, since='2.84'),
    Field('encryption_key_ref', NULL_STRING, since='2.90'),
    Field('snapshot_inherit_share_access_support', BOOLEAN, since='2.99'),
    Field('host', NULL_STRING, rule=rules.SHOW_HOST),
    Field('share_server_id', NULL_STRING, rule=rules.SHOW_HOST),
)

SHARE = View('share', 'shares', FIELDS, 'shares')
SUMMARY = View('share', 'shares', (Field('id', ID), Field('name', NAME)), 'shares')


def _hints(*names: str) -> dict[str, object]:
    return {
        'type': ['object', 'null'],
        'additionalProperties': False,
        'properties': dict.fromkeys(names, NULL_STRING),
    }


_AFFINITY = ('same_host', 'different_host')

CREATE = (
    Field('size', {**shapes.SIZE, 'type': ['integer', 'string', 'null']}, parse=shapes.integer),
    Field('share_proto', {'type': ['string', 'null'], 'maxLength': 32}, empty_is_null=True),
    Field('name', NAME, aliases=('display_name',)),
    Field('description', NAME, aliases=('display_description',)),
    Field('share_type', shapes.NULL_REFERENCE, aliases=('volume_type', 'share_type_id'), empty_is_null=True),
    Field('snapshot_id', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('share_network_id', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('is_public', shapes.NULL_FLAG, parse=shapes.flag),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}),
    Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('share_group_id', shapes.NULL_REFERENCE, since='2.31', empty_is_null=True),
    Field('source_share_group_snapshot_member_id', {'type': 'null'}, since='2.31'),
    Field('consistency_group_id', {'type': 'null'}),
    Field('scheduler_hints', _hints(*_AFFINITY), since='2.65', until='2.66'),
    Field('scheduler_hints', _hints(*_AFFINITY, 'only_host'), since='2.67'),
    Field(
        'mount_point_name',
        {'type': ['string', 'null'], 'maxLength': 255, 'pattern': '^[A-Za-z0-9_-]*$'},
        since='2.84',
        empty_is_null=True,
    ),
    Field(
        'encryption_key_ref',
        shapes.NULL_UUID,
        since='2.90',
        parse=encryption.canonical_id,
        empty_is_null=True,
    ),
)

UPDATE = (
    Field('name', NAME, aliases=('display_name',)),
    Field('description', NAME, aliases=('display_description',)),
    Field('is_public', shapes.FLAG, parse=shapes.flag),
)

FILTERS = (
    Field('name', {'type': 'string'}, aliases=('display_name',)),
    Field('description', {'type': 'string'}, aliases=('display_description',), since='2.36'),
    Field('status', {'type': 'string'}),
    Field('share_type_id', {'type': 'string'}),
    Field('snapshot_id', {'type': 'string'}),
    Field('host', {'type': 'string'}, rule=rules.LIST_BY_HOST),
    Field('share_network_id', {'type': 'string'}),
    Field('share_server_id', {'type': 'string'}, rule=rules.LIST_BY_SERVER),
    Field('is_public', shapes.FLAG, parse=shapes.flag),
    Field('metadata', {'type': 'string'}, parse=shapes.pairs),
    Field('extra_specs', {'type': 'string'}, parse=shapes.pairs, hidden=type_extra_specs.hidden),
    Field('project_id', {'type': 'string'}),
    Field('user_id', {'type': 'string'}),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    Field('share_group_id', {'type': 'string'}, since='2.31'),
    Field('export_location_id', {'type': 'string'}, since='2.35'),
    Field('export_location_path', {'type': 'string'}, since='2.35'),
    Field('name~', {'type': 'string'}, since='2.36', aliases=('display_name~',)),
    Field('description~', {'type': 'string'}, since='2.36', aliases=('display_description~',)),
    Field('with_count', shapes.FLAG, parse=shapes.flag, since='2.42'),
    Field('is_soft_deleted', shapes.FLAG, parse=shapes.flag, since='2.69'),
    Field('mount_point_name', {'type': 'string'}, since='2.84'),
    Field('encryption_key_ref', {'type': 'string'}, since='2.90', parse=encryption.canonical_id),
    Field('availability_zone', {'type': 'string'}, since='2.97'),
    *PAGE,
)

_NEW_SIZE = Field('new_size', shapes.SIZE, parse=shapes.integer, required=True)
_BUSY_DELETE = ((errors.WrongState, 403),)
_BUSY = ((errors.WrongState, 400),)
_ACTION = '/shares/{share_id}/action'
_ANY_SIZE = {'type': 'object', 'additionalProperties': {'type': 'string'}}

_TASK_STATE = {
    'enum': [
        None,
        *(state.value for state in states.Migration if state not in states.BY_HOST),
        *(state.value for state in states.BY_HOST),
        'data_copying_cancelled',
        'data_copying_error',
    ]
}

OPS = [
    Call(
        'GET',
        '/shares',
        v2.index,
        rules.GET_ALL,
        Many(SUMMARY, counted=True, paged=True, beside=FIELDS),
        query=FILTERS,
    ),
    Call(
        'GET',
        '/shares/detail',
        v2.detail,
        rules.GET_ALL,
        Many(SHARE, counted=True, paged=True),
        query=FILTERS,
    ),
    Call('GET', '/shares/{share_id}', v2.show, rules.GET, One(SHARE)),
    Call(
        'POST',
        '/shares',
        v2.create,
        rules.CREATE,
        One(SHARE),
        body=Body('share', CREATE, missing=errors.Unprocessable),
        once=True,
    ),
    Call(
        'PUT',
        '/shares/{share_id}',
        v2.update,
        rules.UPDATE,
        One(SHARE),
        body=Body('share', UPDATE, missing=errors.Unprocessable),
    ),
    Call(
        'DELETE',
        '/shares/{share_id}',
        v2.delete,
        rules.DELETE,
        ok=202,
        states=_BUSY_DELETE,
        query=(Field('share_group_id', {'type': 'string'}),),
    ),
    Call(
        'POST',
        _ACTION,
        v2.force_delete,
        rules.FORCE_DELETE,
        ok=202,
        action='force_delete',
        states=_BUSY_DELETE,
    ),
    Call(
        'POST',
        _ACTION,
        v2.reset_status,
        rules.RESET_STATUS,
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', {'type': 'string'}, required=True),), strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        v2.reset_task_state,
        rules.RESET_TASK_STATE,
        ok=202,
        action='reset_task_state',
        since='2.22',
        # python-manilaclient sends it with each "share set".
        courtesy=({'task_state': None}, rules.UPDATE),
        body=Body('reset_task_state', (Field('task_state', _TASK_STATE),), strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        v2.extend,
        rules.EXTEND,
        ok=202,
        action='extend',
        # Manila gives replicas too large the usual status, and the share itself another.
        states=(*_BUSY, (errors.OverQuota, 403), (errors.OverReplicaQuota, 413)),
        body=Body(
            'extend', (_NEW_SIZE, Field('force', shapes.FLAG, since='2.64', parse=shapes.flag)), strict=True
        ),
    ),
    Call(
        'POST',
        _ACTION,
        v2.shrink,
        rules.SHRINK,
        ok=202,
        action='shrink',
        states=_BUSY,
        body=Body('shrink', (_NEW_SIZE,), strict=True),
    ),
    Call(
        'POST',
        _ACTION,
        v2.revert,
        rules.REVERT,
        ok=202,
        action='revert',
        since='2.27',
        states=((errors.WrongState, 409), (errors.OverQuota, 403)),
        body=Body('revert', (Field('snapshot_id', shapes.REFERENCE, required=True),), strict=True),
    ),
    *metadata_ops(
        '/shares/{share_id}', MetadataCalls('shares', actions, ('share_id',)), rules, shown=_ANY_SIZE
    ),
]
