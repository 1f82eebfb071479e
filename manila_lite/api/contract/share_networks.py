# SPDX-License-Identifier: Apache-2.0
"""The calls for share networks."""

from typing import Any

from manila_lite import errors, states
from manila_lite.api import versions
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One, Plain
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import BOOLEAN, ID, NAME, NULL_TIME, TIME
from manila_lite.api.contract.share_network_subnets import DETAILS, INNER, PLACE, PLACE_ID
from manila_lite.api.v2 import share_networks as v2
from manila_lite.policies import share_networks as rules

_STATUS = {'type': 'string', 'enum': sorted(states.SHARE_NETWORK.statuses)}
_TEXT = {'type': 'string'}


def _subnets(row: Any, req: Any) -> list[dict[str, Any]]:
    return [INNER.render(subnet, req) for subnet in v2.subnets_of(row, req)]


def _inner(since: int, until: int | None = None) -> Field:
    """Return the field of the subnets for a range of versions in which a subnet looks the same."""
    return Field(
        'share_network_subnets',
        {'type': 'array', 'items': INNER.schema(since)},
        since=versions.show(since),
        until=None if until is None else versions.show(until),
        read=_subnets,
    )


NETWORK = View(
    'share_network',
    'share_networks',
    (
        Field('id', ID),
        Field('project_id', _TEXT),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
        Field('name', NAME),
        Field('description', NAME),
        *(
            Field(
                name,
                schema,
                since=since,
                until='2.50',
                read=v2.first_subnet(name),
                rule=DETAILS.get(name),
                blank=True,
            )
            for name, schema, since in PLACE
        ),
        Field('nova_net_id', {'type': 'null'}, until='2.25', read=lambda row, req: None),
        _inner(versions.SUBNETS, versions.SUBNET_METADATA - 1),
        _inner(versions.SUBNET_METADATA),
        Field('status', _STATUS, since='2.63'),
        Field('security_service_update_support', BOOLEAN, since='2.63'),
        Field('network_allocation_update_support', BOOLEAN, since='2.70'),
    ),
)
SUMMARY = View('share_network', 'share_networks', (Field('id', ID), Field('name', NAME)))

_NAMES = (Field('name', NAME), Field('description', NAME))
_WHERE = (
    Field('neutron_net_id', PLACE_ID, empty_is_null=True),
    Field('neutron_subnet_id', PLACE_ID, empty_is_null=True),
    Field('nova_net_id', {'type': 'null'}, until='2.25'),
)

_NUMBER = {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT}

FILTERS = (
    Field('id', _TEXT),
    Field('name', _TEXT),
    Field('description', _TEXT),
    Field('status', _TEXT, since='2.63'),
    Field('name~', _TEXT, since='2.36'),
    Field('description~', _TEXT, since='2.36'),
    Field('project_id', _TEXT),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    # Days, as in Manila, which refuses times here.
    Field('created_since', _TEXT, parse=shapes.day),
    Field('created_before', _TEXT, parse=shapes.day),
    Field('security_service_id', _TEXT, aliases=('security_service',)),
    *(Field(name, _TEXT) for name in ('neutron_net_id', 'neutron_subnet_id', 'network_type', 'cidr')),
    *(Field(name, _NUMBER, parse=shapes.integer) for name in ('segmentation_id', 'ip_version')),
    *PAGE,
)

_ONE = '/share-networks/{share_network_id}'
_ACTION = f'{_ONE}/action'
_SERVICE = (Field('security_service_id', shapes.REFERENCE, required=True),)

_REPLACE = tuple(
    Field(name, shapes.REFERENCE, required=True) for name in ('current_service_id', 'new_service_id')
)
_RESET = Field('reset_operation', shapes.NULL_FLAG, parse=shapes.flag)

_YES_NO = {'type': ['boolean', 'null']}
_ANSWERS = {'compatible': _YES_NO, 'hosts_check_result': {'type': 'object', 'additionalProperties': _YES_NO}}
_ANSWER = {
    'type': 'object',
    'required': ['compatible'],
    'additionalProperties': False,
    'properties': _ANSWERS,
}
_REQUESTED = {
    'type': 'object',
    'additionalProperties': False,
    'required': ['operation', 'current_security_service', 'new_security_service'],
    'properties': {
        'operation': {'type': 'string', 'enum': ['add_security_service', 'update_security_service']},
        'current_security_service': shapes.NULL_STRING,
        'new_security_service': ID,
    },
}
_SERVICE_ANSWER = {
    **_ANSWER,
    'required': ['compatible', 'requested_operation'],
    'properties': {**_ANSWERS, 'requested_operation': _REQUESTED},
}

OPS = [
    Call(
        'GET',
        '/share-networks',
        v2.index,
        rules.INDEX,
        Many(SUMMARY, paged=True, beside=NETWORK.fields),
        query=FILTERS,
    ),
    Call('GET', '/share-networks/detail', v2.detail, rules.DETAIL, Many(NETWORK, paged=True), query=FILTERS),
    Call('GET', _ONE, v2.ROWS.named('show'), rules.SHOW, One(NETWORK)),
    Call(
        'POST',
        '/share-networks',
        v2.ROWS.named('create'),
        rules.CREATE,
        One(NETWORK),
        body=Body(
            'share_network',
            (
                *_NAMES,
                *_WHERE,
                Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True, since='2.51'),
            ),
            missing=errors.Unprocessable,
        ),
        once=True,
    ),
    Call(
        'PUT',
        _ONE,
        v2.update,
        rules.UPDATE,
        One(NETWORK),
        body=Body('share_network', (*_NAMES, *_WHERE), missing=errors.Unprocessable),
    ),
    Call('DELETE', _ONE, v2.ROWS.named('delete'), rules.DELETE, ok=202),
    Call(
        'POST',
        _ACTION,
        v2.add_security_service,
        rules.ADD_SECURITY_SERVICE,
        One(NETWORK),
        action='add_security_service',
        old_action='add_security_service',
        body=Body('add_security_service', _SERVICE),
    ),
    Call(
        'POST',
        _ACTION,
        v2.remove_security_service,
        rules.REMOVE_SECURITY_SERVICE,
        One(NETWORK),
        action='remove_security_service',
        old_action='remove_security_service',
        body=Body('remove_security_service', _SERVICE),
    ),
    Call(
        'POST',
        _ACTION,
        v2.update_security_service,
        rules.UPDATE_SECURITY_SERVICE,
        One(NETWORK),
        ok=202,
        since='2.63',
        action='update_security_service',
        body=Body('update_security_service', _REPLACE),
    ),
    Call(
        'POST',
        _ACTION,
        v2.check_new_security_service,
        rules.ADD_SECURITY_SERVICE_CHECK,
        Plain(_SERVICE_ANSWER),
        ok=202,
        since='2.63',
        action='add_security_service_check',
        body=Body('add_security_service_check', (*_SERVICE, _RESET)),
    ),
    Call(
        'POST',
        _ACTION,
        v2.check_other_security_service,
        rules.UPDATE_SECURITY_SERVICE_CHECK,
        Plain(_SERVICE_ANSWER),
        ok=202,
        since='2.63',
        action='update_security_service_check',
        body=Body('update_security_service_check', (*_REPLACE, _RESET)),
    ),
    Call(
        'POST',
        _ACTION,
        v2.check_subnet,
        rules.SUBNET_CHECK,
        Plain(_ANSWER),
        ok=202,
        since='2.70',
        action='share_network_subnet_create_check',
        body=Body(
            'share_network_subnet_create_check',
            (*_WHERE[:2], Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True), _RESET),
            optional=True,
        ),
    ),
    Call(
        'POST',
        _ACTION,
        v2.ROWS.named('reset_status'),
        rules.RESET_STATUS,
        ok=202,
        action='reset_status',
        since='2.63',
        body=Body('reset_status', (Field('status', _TEXT, required=True),)),
    ),
]
