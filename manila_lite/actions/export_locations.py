# SPDX-License-Identifier: Apache-2.0
"""What a user may ask of export locations: their metadata. The locations themselves are the backend's to say."""

from collections.abc import Iterable
from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db import exports, shares
from manila_lite.policies import export_locations as policies


def metadata(ctx: RequestContext, share_id: str, ident: str) -> dict[str, str]:
    """Return a location's metadata, without the keys that the caller could not send back."""
    with ctx.db.reader() as conn:
        share = shares.get(conn, ctx, share_id)
        return _shown(ctx, exports.metadata(conn, exports.get(conn, (share.instance_id,), ident, hidden=bool(ctx.is_admin))))


def set_metadata(ctx: RequestContext, share_id: str, ident: str, values: dict[str, str], *,
                 replace: bool) -> dict[str, str]:
    """The location has these pairs, beside its others or (``replace``) instead of them. Returns all it has.

    :raises errors.Forbidden: a key is one that only administrators may set.
    :raises errors.OverLimit: it would have too many.
    """
    reserved = _reserved(ctx, values)
    with ctx.db.writer() as conn:
        row = _own(conn, ctx, share_id, ident)
        exports.set_metadata(conn, row.id, values, replace=replace, keep=reserved, conf=ctx.conf)
        return _shown(ctx, exports.metadata(conn, _own(conn, ctx, share_id, ident)))


def delete_metadata(ctx: RequestContext, share_id: str, ident: str, key: str) -> None:
    """The pair is gone.

    :raises errors.NotFound: the location has no such key.
    :raises errors.Forbidden: the key is one that only administrators may delete.
    """
    _reserved(ctx, (key,))
    with ctx.db.writer() as conn:
        exports.delete_metadata(conn, _own(conn, ctx, share_id, ident).id, key)


def _own(conn: Any, ctx: RequestContext, share_id: str, ident: str) -> Any:
    share = shares.get(conn, ctx, share_id, own=True)
    return exports.get(conn, (share.instance_id,), ident, hidden=bool(ctx.is_admin))


def _keys(ctx: RequestContext) -> list[str]:
    """Return the keys that are not the caller's to touch."""
    return [] if ctx.can(policies.UPDATE_ADMIN_METADATA) else list(ctx.conf.admin_only_el_metadata)


def _shown(ctx: RequestContext, values: dict[str, str]) -> dict[str, str]:
    hidden = _keys(ctx)
    return {key: value for key, value in values.items() if key not in hidden}


def _reserved(ctx: RequestContext, asked: Iterable[str]) -> list[str]:
    """Return the keys that the caller may not touch.

    :raises errors.Forbidden: one of them was asked for.
    """
    keys = _keys(ctx)
    wrong = sorted(set(asked) & set(keys))
    if wrong:
        raise errors.Forbidden(f'metadata: only administrators may set or delete {", ".join(wrong)}.')
    return keys
