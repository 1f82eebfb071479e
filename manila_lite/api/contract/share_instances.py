# SPDX-License-Identifier: Apache-2.0
"""The calls for share instances."""

from manila_lite import errors, states
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One
from manila_lite.api.contract.fields import STRING, View
from manila_lite.api.contract.shapes import BOOLEAN, ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import share_instances as v2
from manila_lite.api.v2.shares import rules_status
from manila_lite.policies import share_instances as rules

FIELDS = (
    Field('id', ID),
    Field('share_id', ID),
    Field('availability_zone', NULL_STRING),
    Field('created_at', TIME),
    Field('host', NULL_STRING),
    Field('status', {'type': 'string', 'enum': sorted(states.SHARE.statuses)}),
    Field('share_network_id', NULL_STRING),
    Field('share_server_id', NULL_STRING),
    Field('export_location', NULL_STRING, until='2.8', read=v2.first_export),
    Field('export_locations', {'type': 'array', 'items': STRING}, until='2.8', read=v2.exports_of),
    Field('access_rules_status', STRING, since='2.10', read=rules_status),
    Field('replica_state', NULL_STRING, since='2.11'),
    Field('share_type_id', NULL_STRING, since='2.22'),
    Field('cast_rules_to_readonly', BOOLEAN, since='2.30'),
    Field('progress', NULL_STRING, since='2.54'),
    Field('updated_at', NULL_TIME, since='2.71'),
)

INSTANCE = View('share_instance', 'share_instances', FIELDS)

FILTERS = (
    Field('export_location_id', STRING, since='2.35'),
    Field('export_location_path', STRING, since='2.35'),
    *(
        Field(name, STRING)
        for name in (
            'id',
            'share_id',
            'project_id',
            'host',
            'status',
            'access_rules_status',
            'share_type_id',
            'share_network_id',
            'share_server_id',
        )
    ),
    *PAGE,
)

_ONE = '/share_instances/{share_instance_id}'

OPS = [
    Call(
        'GET',
        '/share_instances',
        v2.index,
        rules.INDEX,
        Many(INSTANCE, paged=True),
        since='2.3',
        query=FILTERS,
    ),
    Call('GET', _ONE, v2.show, rules.SHOW, One(INSTANCE), since='2.3'),
    Call('GET', '/shares/{share_id}/instances', v2.index_of_share, rules.INDEX, Many(INSTANCE), since='2.3'),
    Call(
        'POST',
        f'{_ONE}/action',
        v2.reset_status,
        rules.RESET_STATUS,
        ok=202,
        since='2.3',
        action='reset_status',
        body=Body('reset_status', (Field('status', {'type': 'string'}, required=True),)),
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        v2.force_delete,
        rules.FORCE_DELETE,
        ok=202,
        since='2.3',
        action='force_delete',
        states=((errors.WrongState, 403),),
    ),
]
