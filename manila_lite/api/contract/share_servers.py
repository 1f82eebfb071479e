# SPDX-License-Identifier: Apache-2.0
"""The calls for share servers."""

from manila_lite import errors, states
from manila_lite.actions import encryption
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Field, Many, One, Plain
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import BOOLEAN, ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import share_servers as v2
from manila_lite.policies import share_servers as rules

_STATUS = {'type': 'string', 'enum': sorted(states.SHARE_SERVER.statuses)}
_TEXT = {'type': 'string'}
_IDS = {'type': 'array', 'items': ID}

_FIELDS = (
    Field('id', ID),
    Field('project_id', _TEXT),
    Field('updated_at', NULL_TIME),
    Field('status', _STATUS),
    Field('host', _TEXT),
    Field('share_network_id', ID),
    Field('share_network_name', _TEXT, read=v2.network_name),
    Field('is_auto_deletable', BOOLEAN, since='2.49'),
    Field('identifier', NULL_STRING, since='2.49'),
    Field('share_network_subnet_id', NULL_STRING, since='2.51', until='2.69', read=v2.first_subnet),
    Field('share_network_subnet_id', _IDS, since='2.70', read=v2.subnets_of),
    Field('share_network_subnet_ids', _IDS, since='2.70', read=v2.subnets_of),
    Field('task_state', NULL_STRING, since='2.57'),
    Field('source_share_server_id', NULL_STRING, since='2.57'),
    Field('security_service_update_support', BOOLEAN, since='2.63'),
    Field('network_allocation_update_support', BOOLEAN, since='2.70'),
    Field('encryption_key_ref', NULL_STRING, since='2.90'),
)
LISTED = View('share_server', 'share_servers', _FIELDS)
SERVER = View(
    'share_server',
    'share_servers',
    (*_FIELDS, Field('created_at', TIME), Field('backend_details', shapes.PAIRS, read=v2.details_of)),
)

FILTERS = (
    *(
        Field(name, _TEXT)
        for name in ('id', 'host', 'status', 'project_id', 'share_network_id', 'share_network')
    ),
    Field('identifier', _TEXT, since='2.49'),
    Field('share_network_subnet_id', _TEXT, since='2.51'),
    Field('source_share_server_id', _TEXT, since='2.57'),
    Field('task_state', _TEXT, since='2.57'),
    Field('encryption_key_ref', _TEXT, since='2.90', parse=encryption.canonical_id),
)

_ONE = '/share-servers/{share_server_id}'

MANAGED = (
    Field('host', shapes.TEXT, required=True),
    Field('share_network_id', ID, required=True),
    Field('identifier', shapes.TEXT, required=True),
    Field('share_network_subnet_id', shapes.NULL_REFERENCE, since='2.51', empty_is_null=True),
    # For the driver alone, which defines the keys.
    Field(
        'driver_options',
        {
            'type': ['object', 'null'],
            'additionalProperties': {'type': ['string', 'number', 'boolean', 'null'], 'maxLength': 1023},
        },
    ),
)

OPS = [
    Call('GET', '/share-servers', v2.index, rules.INDEX, Many(LISTED), query=FILTERS),
    Call('GET', _ONE, v2.show, rules.SHOW, One(SERVER)),
    Call('GET', f'{_ONE}/details', v2.details, rules.DETAILS, Plain(shapes.PAIRS, 'details')),
    Call('DELETE', _ONE, v2.delete, rules.DELETE, ok=202, states=((errors.WrongState, 403),)),
    Call(
        'POST',
        f'{_ONE}/action',
        v2.reset_status,
        rules.RESET_STATUS,
        ok=202,
        action='reset_status',
        since='2.49',
        body=Body('reset_status', (Field('status', _TEXT, required=True),)),
    ),
    Call(
        'POST',
        '/share-servers/manage',
        v2.manage,
        rules.MANAGE,
        One(SERVER),
        ok=202,
        since='2.49',
        body=Body('share_server', MANAGED, missing=errors.Unprocessable),
        states=((errors.NotFound, 400), (errors.WrongState, 400)),
    ),
    Call(
        'POST',
        f'{_ONE}/action',
        v2.unmanage,
        rules.UNMANAGE,
        ok=202,
        action='unmanage',
        since='2.49',
        body=Body('unmanage', (Field('force', shapes.FLAG, parse=shapes.flag),), optional=True),
        states=((errors.Conflict, 400),),
    ),
]
