# SPDX-License-Identifier: Apache-2.0
"""Actions on the metadata of export locations. The locations themselves are set by the backend."""

from collections.abc import Iterable
from typing import Any

from manila_lite import errors
from manila_lite.actions import share_bin
from manila_lite.actions.metadata import AdminKeys
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import export_locations, shares
from manila_lite.values import IP_VERSION, MOUNT_OPTIONS

_ADMIN_KEYS = AdminKeys('share_export_location:update_admin_only_metadata', 'admin_only_el_metadata')
#: Keys that only the backend sets: hosts that copy a share give its mount options to mount(8), as root.
_OF_BACKEND = frozenset({IP_VERSION, MOUNT_OPTIONS})


def metadata(ctx: RequestContext, share_id: str, location_id: str) -> dict[str, str]:
    """Return a location's metadata, without the keys that the caller may not set."""
    with ctx.db.reader() as conn:
        share = shares.get(conn, ctx, share_id)
        row = export_locations.get(conn, (share.instance_id,), location_id, hidden=bool(ctx.is_admin))
        return _visible(ctx, export_locations.metadata(conn, row))


def set_metadata(
    ctx: RequestContext, share_id: str, location_id: str, *, values: dict[str, str], replace: bool
) -> dict[str, str]:
    """Set metadata of an export location and return all of it. ``replace``: remove the pairs that are not given.

    :raises errors.Forbidden: a key is one that only administrators may set, or the value one that only the backend sets, or
        the share is in the recycle bin.
    :raises errors.OverLimit: the location would have too many pairs.
    """
    reserved = _ADMIN_KEYS.vet(ctx, values)
    with ctx.db.writer() as conn:
        row = _get_own(conn, ctx, share_id, location_id)
        if told := _OF_BACKEND & values.keys():
            had = export_locations.metadata(conn, row)
            _must_be_free(key for key in told if values[key] != had.get(key))
        export_locations.set_metadata(
            conn,
            row.id,
            {key: value for key, value in values.items() if key not in _OF_BACKEND},
            replace=replace,
            keep=[*reserved, *_OF_BACKEND],
            conf=ctx.conf,
        )
        return _visible(ctx, export_locations.metadata(conn, _get_own(conn, ctx, share_id, location_id)))


def delete_metadata(ctx: RequestContext, share_id: str, location_id: str, *, key: str) -> None:
    """Delete one pair of an export location's metadata.

    :raises errors.NotFound: the location has no such key.
    :raises errors.Forbidden: the key is one that only administrators may delete, or that only the backend sets, or the share
        is in the recycle bin.
    """
    _ADMIN_KEYS.vet(ctx, (key,))
    _must_be_free(_OF_BACKEND & {key})
    with ctx.db.writer() as conn:
        export_locations.delete_metadata(conn, _get_own(conn, ctx, share_id, location_id).id, key)


def _must_be_free(changed: Iterable[str]) -> None:
    if keys := sorted(changed):
        raise errors.Forbidden(f'metadata: only the backend sets or deletes {", ".join(keys)}.')


def _get_own(conn: Connection, ctx: RequestContext, share_id: str, location_id: str) -> Row[Any]:
    share = shares.get(conn, ctx, share_id, own=True)
    share_bin.must_be_out(share)
    return export_locations.get(conn, (share.instance_id,), location_id, hidden=bool(ctx.is_admin))


def _visible(ctx: RequestContext, values: dict[str, str]) -> dict[str, str]:
    hidden = _ADMIN_KEYS.of(ctx)
    return {key: value for key, value in values.items() if key not in hidden}
