# SPDX-License-Identifier: Apache-2.0
"""The choice of the key that a share is encrypted with. Only the key's id is handled here, never the key itself."""

import uuid
from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.actions import share_requests
from manila_lite.db.core.engine import Row
from manila_lite.db.queries.share_types import ShareType

#: The extra spec of a share type that asks for encryption with a key of the owner, and its value for share servers.
_SUPPORT, _OF_SERVERS = 'encryption_support', 'share_server'


def canonical_id(key_id: str) -> str:
    """Return a key's id in its one canonical form, as it is stored. A text that is no UUID is returned unchanged."""
    try:
        return str(uuid.UUID(key_id))
    except ValueError:
        return key_id


def encrypts_servers(share_type: ShareType) -> bool:
    """Say whether the type encrypts whole share servers, and the shares with them."""
    return share_type.extra_specs.get(_SUPPORT) == _OF_SERVERS


def choose_key(
    wanted: Mapping[str, Any],
    share_type: ShareType,
    source: tuple[Row[Any], Row[Any]] | None = None,
    group: Row[Any] | None = None,
) -> str | None:
    """Return the id of the key that a new share of the type is encrypted with, or None.

    A share made from a snapshot (``source``: snapshot, share) has the key of the snapshot's share.

    :raises errors.Invalid: the type does not encrypt, or the snapshot's share has another key.
    """
    source_key_id = source[1].encryption_key_ref if source else None
    key_id: str | None = wanted.get('encryption_key_ref') or source_key_id
    if key_id and group:
        raise errors.Invalid(
            'encryption_key_ref: not supported for shares of a group.', code='encryption_not_supported'
        )
    if source and key_id != source_key_id:
        raise errors.Invalid(
            'encryption_key_ref: must be the key of the share of the snapshot; leave it out if that share '
            'has none.',
            code='encryption_key_differs',
        )
    if key_id and not share_type.extra_specs.get(_SUPPORT):
        raise errors.Invalid(
            f'encryption_key_ref: share type {share_type.name} does not support encryption ({_SUPPORT}).',
            code='encryption_not_supported',
        )
    makes_servers = share_requests.is_spec_true(share_type, 'driver_handles_share_servers')
    if key_id and encrypts_servers(share_type) and not makes_servers:
        raise errors.Invalid(
            f'encryption_key_ref: share type {share_type.name} encrypts share servers, but does not use them.',
            code='encryption_not_supported',
        )
    return key_id
