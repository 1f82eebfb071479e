# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshot instances."""

from manila_lite import states
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One
from manila_lite.api.contract.fields import STRING, View
from manila_lite.api.contract.shapes import ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import snapshot_instances as v2
from manila_lite.policies import snapshot_instances as rules

_FIRST = (
    Field('id', ID),
    Field('snapshot_id', ID),
    Field('status', {'type': 'string', 'enum': sorted(states.SNAPSHOT.statuses)}),
)
SUMMARY = View('snapshot_instance', 'snapshot_instances', _FIRST)
INSTANCE = View(
    'snapshot_instance',
    'snapshot_instances',
    (
        *_FIRST,
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
        Field('share_id', ID),
        Field('share_instance_id', ID),
        Field('progress', NULL_STRING),
        Field('provider_location', NULL_STRING),
    ),
)

FILTERS = (
    *(Field(name, STRING) for name in ('id', 'snapshot_id', 'share_id', 'share_instance_id', 'status')),
    *PAGE,
)

_ONE = '/snapshot-instances/{snapshot_instance_id}'

OPS = [
    Call(
        'GET',
        '/snapshot-instances',
        v2.index,
        rules.INDEX,
        Many(SUMMARY, paged=True, beside=INSTANCE.fields),
        since='2.19',
        query=FILTERS,
    ),
    Call(
        'GET',
        '/snapshot-instances/detail',
        v2.detail,
        rules.DETAIL,
        Many(INSTANCE, paged=True),
        since='2.19',
        query=FILTERS,
    ),
    Call('GET', _ONE, v2.show, rules.SHOW, One(INSTANCE), since='2.19'),
    Call(
        'POST',
        f'{_ONE}/action',
        v2.reset_status,
        rules.RESET_STATUS,
        ok=202,
        since='2.19',
        action='reset_status',
        body=Body('reset_status', (Field('status', STRING, required=True),)),
    ),
]
