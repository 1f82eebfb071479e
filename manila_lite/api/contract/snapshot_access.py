# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshots that can be mounted: their access rules and their export locations."""

from typing import Any

from manila_lite import errors, states
from manila_lite.api.contract.call import Body, Call, Field, Many, One
from manila_lite.api.contract.fields import LINKS, STRING, View
from manila_lite.api.contract.shapes import BOOLEAN, ID, NULL_TIME, TIME
from manila_lite.api.v2 import snapshot_access as v2
from manila_lite.policies import export_locations, snapshot_instances
from manila_lite.policies import snapshots as rules

ACCESS = View(
    'snapshot_access',
    'snapshot_access_list',
    (
        Field('id', ID),
        Field('access_type', STRING),
        Field('access_to', STRING),
        Field('state', {'type': 'string', 'enum': sorted(states.SNAPSHOT_ACCESS.statuses)}),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
    ),
)


def _links(row: Any, req: Any) -> list[dict[str, str]]:
    return list(req.links(f'snapshots/{row.snapshot_id}/export-locations', row.id))


_PLACE = (
    Field('id', ID),
    Field('path', STRING),
    Field('links', LINKS, read=_links),
    # The only instance of a snapshot has the id of the snapshot.
    Field('share_snapshot_instance_id', ID, read='snapshot_id', rule=export_locations.SEE_INSTANCE),
    Field('is_admin_only', BOOLEAN, rule=export_locations.SEE_INSTANCE),
)
SUMMARY = View('share_snapshot_export_location', 'share_snapshot_export_locations', _PLACE)
PLACE = View(
    'share_snapshot_export_location',
    'share_snapshot_export_locations',
    (*_PLACE, Field('created_at', TIME), Field('updated_at', NULL_TIME)),
)

ALLOW = (
    Field('access_type', {'type': 'string', 'enum': ['ip', 'user', 'cert']}, required=True),
    Field('access_to', {'type': 'string', 'maxLength': 255}, required=True),
)
DENY = (Field('access_id', {'type': 'string', 'minLength': 1}, required=True),)

_BUSY = ((errors.WrongState, 400),)
_ONE = '/snapshots/{snapshot_id}'
_EXPORTS = f'{_ONE}/export-locations'
_OF_INSTANCE = '/snapshot-instances/{snapshot_instance_id}/export-locations'
_ID = '{snapshot_export_location_id}'

OPS = [
    Call(
        'POST',
        f'{_ONE}/action',
        v2.allow,
        rules.ALLOW,
        One(ACCESS),
        ok=202,
        since='2.32',
        action='allow_access',
        body=Body('allow_access', ALLOW, strict=True),
        once=True,
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        v2.deny,
        rules.DENY,
        ok=202,
        since='2.32',
        action='deny_access',
        states=_BUSY,
        body=Body('deny_access', DENY, strict=True),
    ),
    Call('GET', f'{_ONE}/access-list', v2.index, rules.LIST_ACCESS, Many(ACCESS), since='2.32'),
    Call('GET', _EXPORTS, v2.exports, rules.EXPORTS, Many(SUMMARY), since='2.32'),
    Call('GET', f'{_EXPORTS}/{_ID}', v2.export, rules.EXPORT, One(PLACE), since='2.32'),
    Call('GET', _OF_INSTANCE, v2.instance_exports, snapshot_instances.EXPORTS, Many(SUMMARY), since='2.32'),
    Call(
        'GET',
        f'{_OF_INSTANCE}/{_ID}',
        v2.instance_export,
        snapshot_instances.EXPORT,
        One(PLACE),
        since='2.32',
    ),
]
