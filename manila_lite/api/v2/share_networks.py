# SPDX-License-Identifier: Apache-2.0
"""The calls for share networks."""

from collections.abc import Callable, Sequence
from typing import Any

from manila_lite import errors, states
from manila_lite.actions import share_network_security_services as service_actions
from manila_lite.actions import share_network_subnets as subnet_actions
from manila_lite.actions import share_networks as actions
from manila_lite.api import versions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, CTX, act, field, listing, loaded, path, read, since
from manila_lite.api.request import Request
from manila_lite.api.v2.share_network_subnets import (
    DETAILS,
    INNER,
    PLACE,
    PLACE_ID,
    load_metadata,
    subnet_value,
)
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_network_subnets, share_networks

# Reading rows -----------------------------------------------------------------------------------


#: Reads a network's subnets.
subnets_of = related.reader('subnets', [])


def first_subnet(name: str) -> Callable[[Any, Request], Any]:
    """Return a reader of one value of the only subnet that versions below 2.51 show: that for all zones, or the oldest."""

    def read(row: Any, req: Request) -> Any:
        subnets = sorted(subnets_of(row, req), key=lambda subnet: subnet.availability_zone_id is not None)
        return subnet_value(name)(subnets[0], req) if subnets else None

    return read


def load_subnets(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    """Load the subnets of these networks for the view, and their metadata if the version shows it."""
    req.related['subnets'] = share_network_subnets.of_networks(conn, [row.id for row in rows])
    load_metadata(conn, req, [subnet for subnets in req.related['subnets'].values() for subnet in subnets])


# Checks at backends ------------------------------------------------------------------------------


def check_subnet(req: Request) -> dict[str, Any]:
    """Check whether a subnet can be added: true, false, or null while not all backends have answered."""
    wanted = dict(req.body)
    reset = bool(wanted.pop('reset_operation', False))
    return _answer(req, subnet_actions.check(req.ctx, req.params['share_network_id'], wanted, reset=reset))


def check_new_security_service(req: Request) -> dict[str, Any]:
    """Check whether a security service can be added: true, false, or null while not all backends have answered."""
    return _check_service(req, 'add_security_service', req.body['security_service_id'], None)


def check_other_security_service(req: Request) -> dict[str, Any]:
    """Check whether a security service can replace another: true, false, or null while not all backends have answered."""
    return _check_service(
        req, 'update_security_service', req.body['new_service_id'], req.body['current_service_id']
    )


def _check_service(req: Request, operation: str, new_id: str, current_id: str | None) -> dict[str, Any]:
    answers = service_actions.check(
        req.ctx,
        req.params['share_network_id'],
        new_id,
        current_id,
        reset=bool(req.body.get('reset_operation')),
    )
    return {
        **_answer(req, answers),
        'requested_operation': {
            'operation': operation,
            'current_security_service': current_id,
            'new_security_service': new_id,
        },
    }


def _answer(req: Request, by_host: dict[str, bool | None] | None) -> dict[str, Any]:
    answers = {None} if by_host is None else set(by_host.values())
    view: dict[str, Any] = {'compatible': False if False in answers else None if None in answers else True}
    return view | ({'hosts_check_result': by_host or {}} if req.ctx.is_admin else {})


# Fields and calls -------------------------------------------------------------------------------

_STATUS = {'type': 'string', 'enum': sorted(states.SHARE_NETWORK.statuses)}


def _inner(since: int, until: int | None = None) -> Field:
    """Return the field of the subnets for a range of versions in which a subnet looks the same."""
    return Field(
        'share_network_subnets',
        {'type': 'array', 'items': INNER.schema(since)},
        since=versions.show(since),
        until=None if until is None else versions.show(until),
        read=lambda row, req: [INNER.render(subnet, req) for subnet in subnets_of(row, req)],
    )


NETWORK = View(
    'share_network',
    'share_networks',
    (
        Field('id', shapes.ID),
        Field('project_id', shapes.STRING),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
        Field('name', shapes.NAME),
        Field('description', shapes.NAME),
        *(
            Field(
                name,
                schema,
                since=since,
                until='2.50',
                read=first_subnet(name),
                rule=DETAILS.get(name),
                blank=True,
            )
            for name, schema, since in PLACE
        ),
        Field('nova_net_id', {'type': 'null'}, until='2.25', read=lambda row, req: None),
        _inner(versions.SUBNETS, versions.SUBNET_METADATA - 1),
        _inner(versions.SUBNET_METADATA),
        Field('status', _STATUS, since='2.63'),
        Field('security_service_update_support', shapes.BOOLEAN, since='2.63'),
        Field('network_allocation_update_support', shapes.BOOLEAN, since='2.70'),
    ),
)
SUMMARY = View('share_network', 'share_networks', (Field('id', shapes.ID), Field('name', shapes.NAME)))

_NAMES = (Field('name', shapes.NAME), Field('description', shapes.NAME))
_WHERE = (
    Field('neutron_net_id', PLACE_ID, empty_is_null=True),
    Field('neutron_subnet_id', PLACE_ID, empty_is_null=True),
    Field('nova_net_id', {'type': 'null'}, until='2.25'),
)

_NUMBER = {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT}

FILTERS = (
    Field('id', shapes.STRING),
    Field('name', shapes.STRING),
    Field('description', shapes.STRING),
    Field('status', shapes.STRING, since='2.63'),
    Field('name~', shapes.STRING, since='2.36'),
    Field('description~', shapes.STRING, since='2.36'),
    Field('project_id', shapes.STRING),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    # Days, as in Manila, which refuses times here.
    Field('created_since', shapes.STRING, parse=shapes.day),
    Field('created_before', shapes.STRING, parse=shapes.day),
    Field('security_service_id', shapes.STRING, aliases=('security_service',)),
    *(Field(name, shapes.STRING) for name in ('neutron_net_id', 'neutron_subnet_id', 'network_type', 'cidr')),
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
        'new_security_service': shapes.ID,
    },
}
_SERVICE_ANSWER = {
    **_ANSWER,
    'required': ['compatible', 'requested_operation'],
    'properties': {**_ANSWERS, 'requested_operation': _REQUESTED},
}

CALLS = [
    Call(
        'GET',
        '/share-networks',
        listing(
            'List ids and names of share networks.',
            share_networks.list_networks,
            'share_network:get_all_share_networks',
            alone=True,
        ),
        'share_network:index',
        Many(SUMMARY, paged=True, beside=NETWORK.fields),
        query=FILTERS,
    ),
    Call(
        'GET',
        '/share-networks/detail',
        listing(
            'List share networks with details.',
            share_networks.list_networks,
            'share_network:get_all_share_networks',
            name='detail',
            load=load_subnets,
            alone=True,
        ),
        'share_network:detail',
        Many(NETWORK, paged=True),
        query=FILTERS,
    ),
    Call(
        'GET',
        _ONE,
        read(
            'Show one share network.',
            share_networks.get,
            CTX,
            path('share_network_id'),
            name='show',
            load=load_subnets,
        ),
        'share_network:show',
        One(NETWORK),
    ),
    Call(
        'POST',
        '/share-networks',
        act('Create a share network.', actions.create, BODY, then=loaded(load_subnets)),
        'share_network:create',
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
        act(
            'Change the name or description of a share network, or the Neutron ids of its default subnet.',
            actions.update,
            path('share_network_id'),
            BODY,
            then=loaded(load_subnets),
        ),
        'share_network:update',
        One(NETWORK),
        body=Body('share_network', (*_NAMES, *_WHERE), missing=errors.Unprocessable),
    ),
    Call(
        'DELETE',
        _ONE,
        act('Delete a share network.', actions.delete, path('share_network_id')),
        'share_network:delete',
        ok=202,
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Add a security service to a share network.',
            service_actions.add,
            path('share_network_id'),
            field('security_service_id'),
            name='add_security_service',
            then=loaded(load_subnets),
            in_use=since(versions.SECURITY_SERVICES_IN_USE),
        ),
        'share_network:add_security_service',
        One(NETWORK),
        action='add_security_service',
        old_action='add_security_service',
        body=Body('add_security_service', _SERVICE),
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Remove a security service from a share network.',
            service_actions.remove,
            path('share_network_id'),
            field('security_service_id'),
            name='remove_security_service',
            then=loaded(load_subnets),
        ),
        'share_network:remove_security_service',
        One(NETWORK),
        action='remove_security_service',
        old_action='remove_security_service',
        body=Body('remove_security_service', _SERVICE),
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Replace a security service of a share network by another.',
            service_actions.update,
            path('share_network_id'),
            field('current_service_id'),
            field('new_service_id'),
            name='update_security_service',
            then=loaded(load_subnets),
        ),
        'share_network:update_security_service',
        One(NETWORK),
        ok=202,
        since='2.63',
        action='update_security_service',
        body=Body('update_security_service', _REPLACE),
    ),
    Call(
        'POST',
        _ACTION,
        check_new_security_service,
        'share_network:add_security_service_check',
        Plain(_SERVICE_ANSWER),
        ok=202,
        since='2.63',
        action='add_security_service_check',
        body=Body('add_security_service_check', (*_SERVICE, _RESET)),
    ),
    Call(
        'POST',
        _ACTION,
        check_other_security_service,
        'share_network:update_security_service_check',
        Plain(_SERVICE_ANSWER),
        ok=202,
        since='2.63',
        action='update_security_service_check',
        body=Body('update_security_service_check', (*_REPLACE, _RESET)),
    ),
    Call(
        'POST',
        _ACTION,
        check_subnet,
        'share_network:subnet_create_check',
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
        act(
            'Set the status of a share network.',
            actions.reset_status,
            path('share_network_id'),
            field('status'),
        ),
        'share_network:reset_status',
        ok=202,
        action='reset_status',
        since='2.63',
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
]
