# SPDX-License-Identifier: Apache-2.0
"""Actions on metadata of resources for which no key has a meaning.

Other resources have functions of these names of their own.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite.context import RequestContext
from manila_lite.db.core import key_values


@dataclasses.dataclass(frozen=True)
class Metadata:
    """Actions on the metadata of one resource type.

    ``get(conn, ctx, resource_id)`` returns the row that the pairs in ``table`` belong to, or raises errors.NotFound.
    ``must_be_open(conn, ctx, row)`` refuses a change that the state of the resource forbids.
    """

    get: Callable[[Any, RequestContext, str], Any]
    table: Any
    must_be_open: Callable[[Any, RequestContext, Any], None] = lambda conn, ctx, row: None

    def metadata(self, ctx: RequestContext, resource_id: str) -> dict[str, str]:
        """Return all metadata."""
        with ctx.db.reader() as conn:
            self.get(conn, ctx, resource_id)
            return key_values.of(conn, self.table, resource_id)

    def set_metadata(
        self, ctx: RequestContext, resource_id: str, values: dict[str, str], *, replace: bool = False
    ) -> dict[str, str]:
        """Set metadata of a resource and return all of it. ``replace``: remove the pairs that are not given.

        :raises errors.OverLimit: the resource would have too many pairs.
        """
        with ctx.db.writer() as conn:
            self.must_be_open(conn, ctx, self.get(conn, ctx, resource_id))
            (key_values.replace if replace else key_values.merge)(
                conn, self.table, resource_id, values, conf=ctx.conf
            )
            return key_values.of(conn, self.table, resource_id)

    def delete_metadata(self, ctx: RequestContext, resource_id: str, key: str) -> None:
        """Delete one pair of a resource's metadata.

        :raises errors.NotFound: the resource has no such key.
        """
        with ctx.db.writer() as conn:
            self.must_be_open(conn, ctx, self.get(conn, ctx, resource_id))
            key_values.remove(conn, self.table, resource_id, key)
