# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshot instances."""

from manila_lite import states
from manila_lite.actions import snapshots as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import CTX, PAGING, QUERY, path, read
from manila_lite.api.request import Request
from manila_lite.db.queries import snapshot_instances


def reset_status(req: Request) -> None:
    """Set the status of a snapshot instance."""
    actions.reset_status(req.ctx, _SHOW(req).snapshot_id, req.body['status'])


_FIRST = (
    Field('id', shapes.ID),
    Field('snapshot_id', shapes.ID),
    Field('status', {'type': 'string', 'enum': sorted(states.SNAPSHOT.statuses)}),
)
SUMMARY = View('snapshot_instance', 'snapshot_instances', _FIRST)
INSTANCE = View(
    'snapshot_instance',
    'snapshot_instances',
    (
        *_FIRST,
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
        Field('share_id', shapes.ID),
        Field('share_instance_id', shapes.ID),
        Field('progress', shapes.NULL_STRING),
        Field('provider_location', shapes.NULL_STRING),
    ),
)

FILTERS = (
    *(
        Field(name, shapes.STRING)
        for name in ('id', 'snapshot_id', 'share_id', 'share_instance_id', 'status')
    ),
    *PAGE,
)

_ONE = '/snapshot-instances/{snapshot_instance_id}'

_SHOW = read(
    'Show one snapshot instance.', snapshot_instances.get, CTX, path('snapshot_instance_id'), name='show'
)

CALLS = [
    Call(
        'GET',
        '/snapshot-instances',
        read(
            'List the instances of all snapshots.',
            snapshot_instances.list_instances,
            CTX,
            QUERY,
            PAGING,
            name='index',
        ),
        'share_snapshot_instance:index',
        Many(SUMMARY, paged=True, beside=INSTANCE.fields),
        since='2.19',
        query=FILTERS,
    ),
    Call(
        'GET',
        '/snapshot-instances/detail',
        read(
            'List the instances of all snapshots with details.',
            snapshot_instances.list_instances,
            CTX,
            QUERY,
            PAGING,
            name='detail',
        ),
        'share_snapshot_instance:detail',
        Many(INSTANCE, paged=True),
        since='2.19',
        query=FILTERS,
    ),
    Call('GET', _ONE, _SHOW, 'share_snapshot_instance:show', One(INSTANCE), since='2.19'),
    Call(
        'POST',
        f'{_ONE}/action',
        reset_status,
        'share_snapshot_instance:reset_status',
        ok=202,
        since='2.19',
        action='reset_status',
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
]
