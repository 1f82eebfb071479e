# SPDX-License-Identifier: Apache-2.0
"""Affinity of shares: the shares that scheduler hints named are kept as metadata on both sides, for clients to see."""

import itertools
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db import models
from manila_lite.db.core import key_values

_metadata = models.share_metadata
_shares = models.shares

#: Scheduler hint -> key of the metadata.
KEYS = {'same_host': '__affinity_same_host', 'different_host': '__affinity_different_host'}
_LONGEST = 1023


def add_share(conn: Connection, share_id: str, project_id: str, named: Mapping[str, Collection[str]]) -> None:
    """Add the new share to the metadata of the shares that its hints name, if they are the project's and the value fits."""
    for hint, share_ids in named.items():
        mine = sa.select(_shares.c.id).where(
            _shares.c.id.in_(tuple(share_ids)), _shares.c.project_id == project_id
        )
        had = _of(conn, KEYS[hint], conn.execute(mine).scalars().all())
        _write(conn, KEYS[hint], {owner: [*others, share_id] for owner, others in had.items()})


def remove_shares(conn: Connection, share_ids: Collection[str]) -> None:
    """Remove the shares, which are being deleted, from the metadata of all other shares."""
    pairs = key_values.of_many(conn, _metadata, share_ids)
    for share_id, key in itertools.product(share_ids, KEYS.values()):
        own = pairs.get(share_id, {})
        if key in own:
            had = _of(conn, key, own[key].split(','))
            _write(
                conn,
                key,
                {
                    owner: [other for other in others if other != share_id]
                    for owner, others in had.items()
                    if share_id in others
                },
            )


def _of(conn: Connection, key: str, owners: Collection[str]) -> dict[str, list[str]]:
    """Return the values of existing owners under the key, and lock them."""
    if owners:
        key_values.lock_owners(conn, _metadata, owners)
    named: dict[str, list[str]] = {owner: [] for owner in owners}
    for row in conn.execute(
        sa.select(_metadata.c.owner_id, _metadata.c.value).where(
            _metadata.c.owner_id.in_(tuple(named)), _metadata.c.key == key
        )
    ):
        named[row.owner_id] = row.value.split(',')
    return named


def _write(conn: Connection, key: str, wanted: Mapping[str, Collection[str]]) -> None:
    values = {owner: ','.join(others) for owner, others in wanted.items()}
    fitting = {owner: value for owner, value in values.items() if len(value) <= _LONGEST}
    conn.execute(_metadata.delete().where(_metadata.c.owner_id.in_(tuple(fitting)), _metadata.c.key == key))
    rows = [{'owner_id': owner, 'key': key, 'value': value} for owner, value in fitting.items() if value]
    if rows:
        conn.execute(_metadata.insert(), rows)
