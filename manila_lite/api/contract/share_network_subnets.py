# SPDX-License-Identifier: Apache-2.0
"""The calls for the subnets of share networks."""

from typing import Any

from manila_lite.actions import share_network_subnet_metadata as actions
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Field, Many, One
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.metadata import metadata_ops
from manila_lite.api.contract.shapes import ID, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import share_network_subnets as v2
from manila_lite.api.v2.metadata import MetadataCalls
from manila_lite.api.v2.related import pairs_of
from manila_lite.api.v2.share_networks import subnet_value
from manila_lite.policies import share_network_subnets as rules
from manila_lite.policies.share_networks import SHOW_DETAILS

NULL_INTEGER = {'type': ['integer', 'null']}
#: Ids of the network plugin: UUIDs with Neutron, any text with other plugins.
PLACE_ID = {'type': ['string', 'null'], 'maxLength': 36}

#: Fields for the place of a subnet: name, schema, first version.
PLACE = (
    ('neutron_net_id', NULL_STRING, '2.0'),
    ('neutron_subnet_id', NULL_STRING, '2.0'),
    ('network_type', NULL_STRING, '2.0'),
    ('segmentation_id', NULL_INTEGER, '2.0'),
    ('cidr', NULL_STRING, '2.0'),
    ('ip_version', NULL_INTEGER, '2.0'),
    ('gateway', NULL_STRING, '2.18'),
    ('mtu', NULL_INTEGER, '2.20'),
)

#: Rules of callers who see the value of a field; others see null.
DETAILS = dict.fromkeys(('network_type', 'segmentation_id'), SHOW_DETAILS)


def _subnet(*more: Field) -> View:
    fields: tuple[Any, ...] = (
        Field('id', ID),
        Field('availability_zone', NULL_STRING),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
        *(
            Field(name, schema, read=subnet_value(name), rule=DETAILS.get(name), blank=True)
            for name, schema, _ in PLACE
        ),
        Field('metadata', shapes.PAIRS, since='2.78', read=pairs_of),
        # An addition to Manila's API, at every version. A subnet without an error has the fields of Manila, and no other.
        Field('error', {'type': 'string'}, sparse=True),
    )
    return View('share_network_subnet', 'share_network_subnets', (*fields, *more))


#: The view of a subnet as part of a share network, and by itself.
INNER = _subnet()
SUBNET = _subnet(Field('share_network_id', ID), Field('share_network_name', NULL_STRING))

CREATE = (
    Field('neutron_net_id', PLACE_ID, empty_is_null=True),
    Field('neutron_subnet_id', PLACE_ID, empty_is_null=True),
    Field('availability_zone', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('metadata', {**shapes.METADATA, 'type': ['object', 'null']}, since='2.78'),
)

_ALL = '/share-networks/{share_network_id}/subnets'
_ONE = f'{_ALL}/{{share_network_subnet_id}}'

OPS = [
    Call('GET', _ALL, v2.index, rules.INDEX, Many(SUBNET), since='2.51'),
    Call('GET', _ONE, v2.show, rules.SHOW, One(SUBNET), since='2.51'),
    Call(
        'POST',
        _ALL,
        v2.create,
        rules.CREATE,
        One(SUBNET),
        since='2.51',
        body=Body('share-network-subnet', CREATE, keys=('share_network_subnet',)),
    ),
    Call('DELETE', _ONE, v2.delete, rules.DELETE, ok=202, since='2.51'),
    *metadata_ops(
        _ONE,
        MetadataCalls(
            'share_network_subnets',
            actions,
            ('share_network_id', 'share_network_subnet_id'),
            v2.push_argument,
        ),
        rules,
        since='2.78',
    ),
]
