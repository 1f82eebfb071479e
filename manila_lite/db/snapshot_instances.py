# SPDX-License-Identifier: Apache-2.0
"""Snapshots as administrators look at them where they are: each has one instance, which has its id."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import errors
from manila_lite.db import models, paging

_snapshots = models.snapshots
_instances = models.share_instances

#: Everything a list may be sorted by.
SORTABLE = {**{column.name: column for column in _snapshots.c}, 'snapshot_id': _snapshots.c.id,
            'share_instance_id': _instances.c.id}

_EQUAL = {'id': _snapshots.c.id, 'snapshot_id': _snapshots.c.id, 'share_id': _snapshots.c.share_id,
          'share_instance_id': _instances.c.id, 'status': _snapshots.c.status}


def _select() -> sa.Select:
    return (sa.select(*_snapshots.c, _snapshots.c.id.label('snapshot_id'), _instances.c.id.label('share_instance_id'))
            .join(_instances, sa.and_(_instances.c.share_id == _snapshots.c.share_id, ~_instances.c.is_aside)))


def get(conn: Connection, ident: str) -> Row:
    """Return an instance, whoever owns its snapshot.

    :raises errors.NotFound: there is none.
    """
    row = conn.execute(_select().where(_snapshots.c.id == ident)).first()
    if row is None:
        raise errors.NotFound.of('snapshot instance', ident)
    return row


def list_instances(conn: Connection, filters: dict[str, Any], page: paging.Page) -> list[Row]:
    """Return instances of all projects; filters by columns."""
    query = _select().where(*(column == filters[key] for key, column in _EQUAL.items() if filters.get(key) is not None))
    return list(conn.execute(page.apply(query, SORTABLE, tie=_snapshots.c.id)).all())
