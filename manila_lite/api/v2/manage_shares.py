# SPDX-License-Identifier: Apache-2.0
"""The calls to manage and unmanage shares and snapshots of a backend."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import manage_shares as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Body, Call, Field, One
from manila_lite.api.framework.handlers import BODY, act, loaded, path, with_pairs
from manila_lite.api.v2.shares import SHARE, load_related
from manila_lite.api.v2.snapshots import SNAPSHOT


def first_path(value: Any) -> Any:
    """Return the path, or that of an export location, or of the first of a list: a share is found by any of its paths."""
    first = value[0] if isinstance(value, list) and value else value
    return first['path'] if isinstance(first, dict) else first


# Fields and calls -------------------------------------------------------------------------------

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
    Field('name', shapes.NAME, aliases=('display_name',)),
    Field('description', shapes.NAME, aliases=('display_description',)),
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
        parse=first_path,
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

_UNMANAGE_PLAIN = act(
    'Unmanage a share that is on no share server.',
    actions.unmanage_share,
    path('share_id'),
    name='unmanage_plain',
    on_servers=False,
)

CALLS = [
    Call(
        'POST',
        '/shares/manage',
        act(
            'Manage an existing share of a backend.',
            actions.manage_share,
            BODY,
            name='manage',
            then=loaded(load_related),
        ),
        'share:manage',
        One(SHARE),
        old_path='/os-share-manage',
        body=_SHARE,
        once=True,
    ),
    Call(
        'POST',
        '/os-share-unmanage/{share_id}/unmanage',
        _UNMANAGE_PLAIN,
        'share:unmanage',
        ok=202,
        until='2.6',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/shares/{share_id}/action',
        _UNMANAGE_PLAIN,
        'share:unmanage',
        ok=202,
        since='2.7',
        until='2.48',
        action='unmanage',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/shares/{share_id}/action',
        act('Unmanage a share.', actions.unmanage_share, path('share_id'), name='unmanage'),
        'share:unmanage',
        ok=202,
        since='2.49',
        action='unmanage',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/snapshots/manage',
        act(
            'Manage an existing snapshot of a share that is on no share server.',
            actions.manage_snapshot,
            BODY,
            name='manage_plain_snapshot',
            then=with_pairs,
            on_servers=False,
        ),
        'share_snapshot:manage_snapshot',
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
        act('Manage an existing snapshot of a share.', actions.manage_snapshot, BODY, then=with_pairs),
        'share_snapshot:manage_snapshot',
        One(SNAPSHOT),
        ok=202,
        since='2.49',
        body=_SNAPSHOT,
        once=True,
    ),
    Call(
        'POST',
        '/snapshots/{snapshot_id}/action',
        act(
            'Unmanage a snapshot of a share that is on no share server.',
            actions.unmanage_snapshot,
            path('snapshot_id'),
            name='unmanage_plain_snapshot',
            on_servers=False,
        ),
        'share_snapshot:unmanage_snapshot',
        ok=202,
        since='2.12',
        until='2.48',
        action='unmanage',
        states=_NOT_NOW,
    ),
    Call(
        'POST',
        '/snapshots/{snapshot_id}/action',
        act('Unmanage a snapshot.', actions.unmanage_snapshot, path('snapshot_id')),
        'share_snapshot:unmanage_snapshot',
        ok=202,
        since='2.49',
        action='unmanage',
        states=_NOT_NOW,
    ),
]
