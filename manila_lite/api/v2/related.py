# SPDX-License-Identifier: Apache-2.0
"""What belongs to the rows of an answer, loaded for all of them at once: a list costs the same number of statements
whatever its length."""

from collections.abc import Sequence
from typing import Any

from manila_lite.api.request import Request
from manila_lite.db import models, pairs, shares

#: From 2.9 on, export locations are resources of their own.
_INLINE_EXPORTS_UNTIL = 8


def load_for_shares(conn: Any, req: Request, rows: Sequence[Any]) -> None:
    """Metadata, and below 2.9 the export locations, of these shares are at hand for the view."""
    req.related['metadata'] = pairs.of_many(conn, models.share_metadata, [row.id for row in rows])
    if req.version <= _INLINE_EXPORTS_UNTIL:
        req.related['exports'] = shares.exports(conn, [row.instance_id for row in rows])


def load_pairs(conn: Any, req: Request, table: Any, rows: Sequence[Any]) -> None:
    """The pairs of these rows are at hand for the view."""
    req.related['metadata'] = pairs.of_many(conn, table, [row.id for row in rows])
