# SPDX-License-Identifier: Apache-2.0
"""The calls for export locations, of shares and of their instances."""

from manila_lite.actions import export_locations as actions
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Call, Field, Many, One
from manila_lite.api.contract.fields import STRING, View
from manila_lite.api.contract.metadata import metadata_ops
from manila_lite.api.contract.shapes import BOOLEAN, ID, TIME
from manila_lite.api.v2 import export_locations as v2
from manila_lite.api.v2.metadata import MetadataCalls
from manila_lite.policies import export_locations as rules

SUMMARY_FIELDS = (
    Field('id', ID),
    Field('path', STRING),
    Field('preferred', BOOLEAN, since='2.14'),
    Field('metadata', shapes.PAIRS, since='2.87', read=v2.metadata_of),
    Field('share_instance_id', ID, rule=rules.SEE_INSTANCE),
    Field('is_admin_only', BOOLEAN, rule=rules.SEE_INSTANCE),
)

SUMMARY = View('export_location', 'export_locations', SUMMARY_FIELDS)
EXPORT = View(
    'export_location',
    'export_locations',
    (*SUMMARY_FIELDS, Field('created_at', TIME), Field('updated_at', TIME, read=v2.last_set)),
)

_ALL = '/shares/{share_id}/export_locations'
_ONE = f'{_ALL}/{{export_location_id}}'
_OF_INSTANCE = '/share_instances/{share_instance_id}/export_locations'

OPS = [
    Call('GET', _ALL, v2.index, rules.INDEX, Many(SUMMARY), since='2.9'),
    Call('GET', _ONE, v2.show, rules.SHOW, One(EXPORT), since='2.9'),
    Call('GET', _OF_INSTANCE, v2.index_of_instance, rules.INSTANCE_INDEX, Many(SUMMARY), since='2.9'),
    Call(
        'GET',
        f'{_OF_INSTANCE}/{{export_location_id}}',
        v2.show_of_instance,
        rules.INSTANCE_SHOW,
        One(EXPORT),
        since='2.9',
    ),
    *metadata_ops(
        _ONE,
        MetadataCalls('export_locations', actions, ('share_id', 'export_location_id')),
        rules,
        since='2.87',
    ),
]
