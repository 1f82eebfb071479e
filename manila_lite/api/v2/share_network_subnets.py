# SPDX-License-Identifier: Apache-2.0
"""The calls for the subnets of share networks."""

from collections.abc import Callable
from typing import Any

from manila_lite.actions import share_network_subnet_metadata
from manila_lite.actions import share_network_subnets as actions
from manila_lite.api import versions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, act, path, since, with_pairs
from manila_lite.api.framework.metadata import MetadataCalls, metadata_calls
from manila_lite.api.request import Request
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_network_subnets, share_networks

#: What a user sees of a subnet in a default network: the ids that the user gave.
_WANTED = {'neutron_net_id': 'wanted_net_id', 'neutron_subnet_id': 'wanted_subnet_id'}


def subnet_value(name: str) -> Callable[[Any, Request], Any]:
    """Return a reader of one value of a subnet."""

    def read(subnet: Any, req: Request) -> Any:
        return getattr(subnet, (_WANTED.get(name) if subnet.in_default_network else None) or name)

    return read


def load_metadata(conn: Connection, req: Request, subnets: list[Any]) -> None:
    """Load the metadata of these subnets for the view."""
    if req.version >= versions.SUBNET_METADATA:
        related.pairs_loader(models.share_network_subnet_metadata)(conn, req, subnets)


def push_argument(req: Request) -> dict[str, bool]:
    """Return whether changed metadata is sent to drivers: from version 2.89 on."""
    return {'push': req.version >= versions.SUBNET_METADATA_FOR_DRIVERS}


def index(req: Request) -> list[Any]:
    """List the subnets of a share network."""
    network_id = req.params['share_network_id']
    with req.ctx.db.reader() as conn:
        share_networks.get(conn, req.ctx, network_id)
        rows = share_network_subnets.of_network(conn, network_id)
        load_metadata(conn, req, rows)
    return rows


def show(req: Request) -> Any:
    """Show one subnet of a share network."""
    network_id = req.params['share_network_id']
    with req.ctx.db.reader() as conn:
        share_networks.get(conn, req.ctx, network_id)
        row = share_network_subnets.get(conn, network_id, req.params['share_network_subnet_id'])
        load_metadata(conn, req, [row])
    return row


# Fields and calls -------------------------------------------------------------------------------

#: Ids of the network plugin: UUIDs with Neutron, any text with other plugins.
PLACE_ID = {'type': ['string', 'null'], 'maxLength': 36}

#: Fields for the place of a subnet: name, schema, first version.
PLACE = (
    ('neutron_net_id', shapes.NULL_STRING, '2.0'),
    ('neutron_subnet_id', shapes.NULL_STRING, '2.0'),
    ('network_type', shapes.NULL_STRING, '2.0'),
    ('segmentation_id', shapes.NULL_INTEGER, '2.0'),
    ('cidr', shapes.NULL_STRING, '2.0'),
    ('ip_version', shapes.NULL_INTEGER, '2.0'),
    ('gateway', shapes.NULL_STRING, '2.18'),
    ('mtu', shapes.NULL_INTEGER, '2.20'),
)

#: Rules of callers who see the value of a field; others see null.
DETAILS = dict.fromkeys(('network_type', 'segmentation_id'), 'share_network:show_network_details')


def _subnet(*more: Field) -> View:
    fields: tuple[Any, ...] = (
        Field('id', shapes.ID),
        Field('availability_zone', shapes.NULL_STRING),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
        *(
            Field(name, schema, read=subnet_value(name), rule=DETAILS.get(name), blank=True)
            for name, schema, _ in PLACE
        ),
        Field('metadata', shapes.PAIRS, since='2.78', read=related.pairs_of),
        # An addition to Manila's API, at every version. A subnet without an error has the fields of Manila, and no other.
        Field('error', {'type': 'string'}, sparse=True),
    )
    return View('share_network_subnet', 'share_network_subnets', (*fields, *more))


#: The view of a subnet as part of a share network, and by itself.
INNER = _subnet()
SUBNET = _subnet(Field('share_network_id', shapes.ID), Field('share_network_name', shapes.NULL_STRING))

CREATE = (
    Field('neutron_net_id', PLACE_ID, empty_is_null=True),
    Field('neutron_subnet_id', PLACE_ID, empty_is_null=True),
    Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}, since='2.78'),
)

_ALL = '/share-networks/{share_network_id}/subnets'
_ONE = f'{_ALL}/{{share_network_subnet_id}}'

CALLS = [
    Call('GET', _ALL, index, 'share_network_subnet:index', Many(SUBNET), since='2.51'),
    Call('GET', _ONE, show, 'share_network_subnet:show', One(SUBNET), since='2.51'),
    Call(
        'POST',
        _ALL,
        act(
            'Add a subnet to a share network.',
            actions.create,
            path('share_network_id'),
            BODY,
            then=with_pairs,
            several=since(versions.SEVERAL_SUBNETS),
        ),
        'share_network_subnet:create',
        One(SUBNET),
        since='2.51',
        body=Body('share-network-subnet', CREATE, keys=('share_network_subnet',)),
    ),
    Call(
        'DELETE',
        _ONE,
        act(
            'Remove a subnet from a share network.',
            actions.delete,
            path('share_network_id'),
            path('share_network_subnet_id'),
        ),
        'share_network_subnet:delete',
        ok=202,
        since='2.51',
    ),
    *metadata_calls(
        _ONE,
        MetadataCalls(
            share_network_subnet_metadata.METADATA,
            ('share_network_id', 'share_network_subnet_id'),
            push_argument,
        ),
        'share_network_subnet:{}_metadata',
        since='2.78',
    ),
]
