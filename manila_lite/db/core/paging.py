# SPDX-License-Identifier: Apache-2.0
"""Filtering, sorting and paging of lists, in SQL."""

import dataclasses
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from manila_lite import errors


def conditions(
    filters: Mapping[str, Any],
    columns: Any,
    equal: Iterable[str],
    parts: Iterable[str] = (),
    project_id: Any = None,
) -> list[Any]:
    """Return the conditions of filters: columns named in ``equal`` equal their filter, and columns in ``parts`` contain
    theirs, whose name ends in ``~``; and ``created_since`` and ``created_before`` are times. A filter that is None does not
    count. ``project_id``: only of this project.
    """
    return [
        *([] if project_id is None else [columns['project_id'] == project_id]),
        *(columns[key] == filters[key] for key in equal if filters.get(key) is not None),
        *(
            columns[key].icontains(filters[f'{key}~'], autoescape=True)
            for key in parts
            if filters.get(f'{key}~') is not None
        ),
        *(
            compare(columns['created_at'], filters[key])
            for key, compare in (('created_since', operator.ge), ('created_before', operator.le))
            if filters.get(key) is not None
        ),
    ]


#: Parameters of lists that are no filters.
_NO_FILTERS = frozenset(('limit', 'offset', 'marker', 'sort_key', 'sort_dir', 'with_count'))


def is_filtered(filters: Mapping[str, Any]) -> bool:
    """Say whether there is any filter, as opposed to parameters of a page and to flags that are off."""
    return any(
        value is not None and value is not False and value != {}
        for name, value in filters.items()
        if name not in _NO_FILTERS
    )


def no_sort_key(key: str) -> errors.Invalid:
    """Return the error for a key that is no field of the list."""
    return errors.Invalid(f'sort_key: {key!r} is not a field to sort by.')


@dataclasses.dataclass(frozen=True)
class Page:
    """A page of a list. ``limit`` None: all rows. ``marker``: only rows after that id; none if it is not in the list."""

    limit: int | None = None
    offset: int = 0
    sort_key: str = 'created_at'
    descending: bool = True
    marker: str | None = None

    def apply(self, query: sa.Select[Any], columns: Mapping[str, Any], *, tie: Any) -> sa.Select[Any]:
        """Return the query sorted (ties by ``tie``, so that pages never overlap) and cut.

        :raises errors.Invalid: the sort key is none of ``columns``.
        """
        values = self.values()
        limit, offset = (
            sa.bindparam(name, values[name], sa.Integer) for name in ('page_limit', 'page_offset')
        )
        order = self._order(columns, tie)
        if self.marker is not None:
            marker = sa.bindparam('page_marker', self.marker, tie.type)
            column = columns[self.sort_key]
            if getattr(column, 'table', None) is tie.table and not column.nullable:
                query = query.where(_after_value(query, marker, column, tie, descending=self.descending))
            else:
                query = query.where(_after(query, marker, order, tie))
        query = query.order_by(*order)
        if self.offset:
            # MariaDB and SQLite have no OFFSET without a LIMIT.
            query = query.limit(limit).offset(offset)
        elif self.limit is not None:
            query = query.limit(limit)
        return query

    def sort(self, query: sa.Select[Any], columns: Mapping[str, Any], *, tie: Any) -> sa.Select[Any]:
        """Return the query in the order of the page, without its limits.

        :raises errors.Invalid: the sort key is none of ``columns``.
        """
        return query.order_by(*self._order(columns, tie))

    def _order(self, columns: Mapping[str, Any], tie: Any) -> list[Any]:
        if self.sort_key not in columns:
            raise no_sort_key(self.sort_key)
        return [end.desc() if self.descending else end.asc() for end in (columns[self.sort_key], tie)]

    def shape(self) -> 'Page':
        """Return a page that stands for all pages with the same query: only its values differ."""
        return dataclasses.replace(
            self,
            limit=None if self.limit is None else 1,
            offset=min(self.offset, 1),
            marker=None if self.marker is None else '',
        )

    def values(self) -> dict[str, Any]:
        """Return the values of the page's query."""
        return {
            'page_limit': 2**62 if self.limit is None else self.limit,
            'page_offset': self.offset,
            'page_marker': self.marker,
        }


def _after_value(
    query: sa.Select[Any], marker: Any, column: Any, tie: Any, *, descending: bool
) -> sa.ColumnElement[bool]:
    """Return the condition by the value of the marker's row, which an index serves. Only for columns without nulls."""
    value = query.with_only_columns(column).where(tie == marker).scalar_subquery()
    beyond = operator.lt if descending else operator.gt
    not_before = (
        operator.le if descending else operator.ge
    )  # beside the exact condition: databases use it for the index
    return sa.and_(not_before(column, value), sa.or_(beyond(column, value), beyond(tie, marker)))


def _after(query: sa.Select[Any], marker: Any, order: Sequence[Any], tie: Any) -> sa.ColumnElement[bool]:
    """Return the condition by row numbers, not by values: these may be null, and databases sort nulls in different ways."""
    places = query.with_only_columns(
        tie.label('row_id'), sa.func.row_number().over(order_by=order).label('place')
    ).cte()
    mark = sa.select(places.c.place).where(places.c.row_id == marker).scalar_subquery()
    after: sa.ColumnElement[bool] = tie.in_(sa.select(places.c.row_id).where(places.c.place > mark))
    return after
