# SPDX-License-Identifier: Apache-2.0
"""One way to sort and cut lists, in SQL."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from manila_lite import errors


@dataclasses.dataclass(frozen=True)
class Page:
    """What the caller wants to see of a list. ``limit`` None: all."""

    limit: int | None = None
    offset: int = 0
    sort_key: str = 'created_at'
    descending: bool = True

    def apply(self, query: sa.Select, columns: Mapping[str, Any], *, tie: Any) -> sa.Select:
        """Return the query sorted (ties by ``tie``, so that pages never overlap) and cut.

        :raises errors.Invalid: the sort key is none of ``columns``.
        """
        if self.sort_key not in columns:
            raise errors.Invalid(f'sort_key: {self.sort_key!r} is not a field to sort by.')
        ends = [columns[self.sort_key], tie]
        query = query.order_by(*(end.desc() if self.descending else end.asc() for end in ends))
        if self.offset:
            # MariaDB and SQLite know no OFFSET without a LIMIT.
            query = query.limit(self.limit if self.limit is not None else 2**62).offset(self.offset)
        elif self.limit is not None:
            query = query.limit(self.limit)
        return query
