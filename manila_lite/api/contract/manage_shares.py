# SPDX-License-Identifier: Apache-2.0
"""The calls to manage and unmanage shares and snapshots of a backend."""

from manila_lite import errors
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Field, One
from manila_lite.api.contract.shapes import NAME
from manila_lite.api.contract.shares import SHARE
from manila_lite.api.contract.snapshots import SNAPSHOT
from manila_lite.api.v2 import manage_shares as v2
from manila_lite.policies import manage_shares as rules

#: A missing or empty value is a 422, which a schema cannot express.
_NEEDED = {'type': ['string', 'null'], 'maxLength': 255}
#: A path, or an export location as a call for export locations shows it.
_LOCATION = {
    'type': ['string', 'object'],
    'maxLength': 1024,
    'required': ['path'],
    'properties': {'path': {'type': 'string', 'minLength': 1, 'maxLength': 1024}},
}

_MORE = (
    # For the driver alone, which defines the keys.
    Field(
        'driver_options',
        {
            'type': ['object', 'null'],
            'additionalProperties': {'type': ['string', 'number', 'boolean', 'null'], 'maxLength': 1023},
        },
    ),
    Field('name', NAME, aliases=('display_name',)),
    Field('description', NAME, aliases=('display_description',)),
)

MANAGED = (
    Field('service_host', _NEEDED, empty_is_null=True),
    # Any word: only the backend knows the protocol of its share.
    Field(
        'protocol',
        {'type': ['string', 'null'], 'maxLength': 32, 'pattern': '^[A-Za-z0-9_-]*$'},
        empty_is_null=True,
    ),
    Field(
        'export_path',
        {**_LOCATION, 'type': ['string', 'object', 'array', 'null'], 'items': _LOCATION},
        parse=v2.first_path,
        empty_is_null=True,
    ),
    Field('share_type', shapes.NULL_REFERENCE, empty_is_null=True),
    *_MORE,
    Field('is_public', shapes.NULL_FLAG, since='2.8', parse=shapes.flag),
    Field('share_server_id', {'type': ['string', 'null'], 'maxLength': 36}, since='2.49', empty_is_null=True),
    Field(
        'mount_point_name',
        {'type': ['string', 'null'], 'maxLength': 255, 'pattern': '^[A-Za-z0-9_-]*$'},
        since='2.92',
        empty_is_null=True,
    ),
)

MANAGED_SNAPSHOT = (
    Field('share_id', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('provider_location', shapes.NULL_REFERENCE, empty_is_null=True),
    *_MORE,
)

_NOT_NOW = ((errors.WrongState, 403),)
_SHARE = Body('share', MANAGED, missing=errors.Unprocessable)
_SNAPSHOT = Body('snapshot', MANAGED_SNAPSHOT, missing=errors.Unprocessable)

OPS = [
    Call(
        'POST',
        '/shares/manage',
        v2.manage,
        rules.MANAGE,
        One(SHARE),
        old_path='/os-share-manage',
        body=_SHARE,
        once=True,
    ),
    Call(
        'POST',
        '/os-share-unmanage/{share_id}/unmanage',
        v2.unmanage_plain,
        rules.UNMANAGE,
        ok=202,
        until='2.6',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/shares/{share_id}/action',
        v2.unmanage_plain,
        rules.UNMANAGE,
        ok=202,
        since='2.7',
        until='2.48',
        action='unmanage',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/shares/{share_id}/action',
        v2.unmanage,
        rules.UNMANAGE,
        ok=202,
        since='2.49',
        action='unmanage',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/snapshots/manage',
        v2.manage_plain_snapshot,
        rules.MANAGE_SNAPSHOT,
        One(SNAPSHOT),
        ok=202,
        since='2.12',
        until='2.48',
        body=_SNAPSHOT,
        once=True,
    ),
    Call(
        'POST',
        '/snapshots/manage',
        v2.manage_snapshot,
        rules.MANAGE_SNAPSHOT,
        One(SNAPSHOT),
        ok=202,
        since='2.49',
        body=_SNAPSHOT,
        once=True,
    ),
    Call(
        'POST',
        '/snapshots/{snapshot_id}/action',
        v2.unmanage_plain_snapshot,
        rules.UNMANAGE_SNAPSHOT,
        ok=202,
        since='2.12',
        until='2.48',
        action='unmanage',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/snapshots/{snapshot_id}/action',
        v2.unmanage_snapshot,
        rules.UNMANAGE_SNAPSHOT,
        ok=202,
        since='2.49',
        action='unmanage',
        states=_NOT_NOW,
    ),
]
