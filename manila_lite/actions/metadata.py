# SPDX-License-Identifier: Apache-2.0
"""Metadata of nouns to whom their pairs mean nothing. Others have functions of these names of their own."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite.context import RequestContext
from manila_lite.db import pairs


@dataclasses.dataclass(frozen=True)
class Metadata:
    """What a user may ask of the metadata of one noun.

    ``get(conn, ctx, ident)`` finds the row that the pairs in ``table`` belong to, or raises errors.NotFound.
    """

    get: Callable[[Any, RequestContext, str], Any]
    table: Any

    def metadata(self, ctx: RequestContext, ident: str) -> dict[str, str]:
        """Return all metadata."""
        with ctx.db.reader() as conn:
            self.get(conn, ctx, ident)
            return pairs.of(conn, self.table, ident)

    def set_metadata(self, ctx: RequestContext, ident: str, values: dict[str, str], *, replace: bool = False) -> dict[str, str]:
        """It has these pairs, beside its others or (``replace``) instead of them. Returns all it has.

        :raises errors.OverLimit: it would have too many.
        """
        with ctx.db.writer() as conn:
            self.get(conn, ctx, ident)
            (pairs.replace if replace else pairs.merge)(conn, self.table, ident, values, conf=ctx.conf)
            return pairs.of(conn, self.table, ident)

    def delete_metadata(self, ctx: RequestContext, ident: str, key: str) -> None:
        """The pair is gone.

        :raises errors.NotFound: it has no such key.
        """
        with ctx.db.writer() as conn:
            self.get(conn, ctx, ident)
            pairs.remove(conn, self.table, ident, key)
