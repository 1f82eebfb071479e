# SPDX-License-Identifier: Apache-2.0
"""The table of grants, which each sibling has in its own metadata, and all SQL on it."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite import errors
from manila_lite.db.core import row_locks
from manila_lite.db.core.engine import Connection, insert_ignore

#: Seconds until a target whose grant is being released is tried again.
_SOON = 1.0

STRENGTH = {'ro': 0, 'rw': 1}


#: A function that returns the levels which the rows with this grant need, by the grant's id.
Users = Callable[[Connection, str], Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Target:
    """The access that a grant stands for: to which share, for which client, at which level."""

    share_id: str
    kind: str
    to: str
    level: str = 'rw'


def stronger(*levels: str) -> str:
    """Return the strongest of the levels."""
    return max(levels, key=STRENGTH.__getitem__)


def table(metadata: sa.MetaData, name: str = 'share_grants') -> sa.Table:
    """Make the table in ``metadata``, and return it."""
    return sa.Table(
        name,
        metadata,
        sa.Column('id', sa.String(36), primary_key=True),
        sa.Column('share_id', sa.String(36), nullable=False),
        sa.Column('access_type', sa.String(16), nullable=False),
        sa.Column('access_to', sa.String(255), nullable=False),
        sa.Column('level', sa.String(2), nullable=False),  # the strongest level requested
        sa.Column('service', sa.String(64), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('reason', sa.String(1023), nullable=False),  # of the locks
        sa.Column('access_id', sa.String(36)),  # the rule, once it is known
        sa.Column('owned', sa.Boolean, nullable=False, default=False),
        sa.Column('lock_id', sa.String(36)),  # our lock, on a rule that others made
        sa.Column('releasing', sa.Boolean, nullable=False, default=False),
        sa.Column('fault', sa.Text),
        sa.Column('created_at', sa.DateTime, nullable=False),
        sa.Column('updated_at', sa.DateTime),
        sa.UniqueConstraint('share_id', 'access_type', 'access_to', name=f'uniq_{name}_target'),
        sa.Index(f'ix_{name}_host', 'host'),
    )


def get(conn: Connection, grants: sa.Table, grant_id: str) -> Any:
    """Return a grant, or None."""
    return conn.execute(sa.select(grants).where(grants.c.id == grant_id)).first()


def claim(conn: Connection, grants: sa.Table, target: Target, **values: Any) -> str:
    """Return the id of the target's grant, which is made if there is none. Its row is locked until the transaction ends.

    :raises errors.Again: the grant is being released.
    """
    _insert(conn, grants, target, releasing=False, **values)
    row_locks.certify(conn, grants, *_for(grants, target))
    row = conn.execute(sa.select(grants).where(*_for(grants, target)).with_for_update()).first()
    if row is None or row.releasing:
        raise errors.Again(_SOON, f'Access of {target.to} to share {target.share_id} is being removed.')
    level = stronger(row.level, target.level)
    if level != row.level:
        conn.execute(
            grants.update().where(grants.c.id == row.id).values(level=level, updated_at=timeutils.utcnow())
        )
    return str(row.id)


def insert_released(conn: Connection, grants: sa.Table, target: Target, **values: Any) -> str | None:
    """Insert a grant that is being released, for a rule without one; return its id, or None if the target has a grant."""
    return _insert(conn, grants, target, releasing=True, owned=True, **values)


def _insert(conn: Connection, grants: sa.Table, target: Target, **values: Any) -> str | None:
    grant_id = uuidutils.generate_uuid()
    made = insert_ignore(
        conn,
        grants,
        {
            'id': grant_id,
            'share_id': target.share_id,
            'access_type': target.kind,
            'access_to': target.to,
            'level': target.level,
            'owned': False,
            'created_at': timeutils.utcnow(),
            **values,
        },
    )
    return grant_id if made else None


def _for(grants: sa.Table, target: Target) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        grants.c.share_id == target.share_id,
        grants.c.access_type == target.kind,
        grants.c.access_to == target.to,
    )


def update(conn: Connection, grants: sa.Table, grant_id: str, *, releasing: bool, **values: Any) -> bool:
    """Set values of the grant, if it still exists and ``releasing`` is as given; return whether it was so."""
    return bool(
        conn.execute(
            grants.update()
            .where(grants.c.id == grant_id, grants.c.releasing.is_(releasing))
            .values(updated_at=timeutils.utcnow(), **values)
        ).rowcount
    )


def begin_release(conn: Connection, grants: sa.Table, grant_id: str, users: Users) -> Any:
    """Begin to release the grant, and return it; return None if it is gone or in use."""
    row_locks.certify(conn, grants, grants.c.id == grant_id)
    row = conn.execute(sa.select(grants).where(grants.c.id == grant_id).with_for_update()).first()
    if row is None or (not row.releasing and users(conn, grant_id)):
        return None
    if not row.releasing:
        conn.execute(
            grants.update()
            .where(grants.c.id == grant_id)
            .values(releasing=True, updated_at=timeutils.utcnow())
        )
    return get(conn, grants, grant_id)


def delete(conn: Connection, grants: sa.Table, grant_id: str) -> None:
    """Delete the grant, which was being released."""
    conn.execute(grants.delete().where(grants.c.id == grant_id, grants.c.releasing.is_(True)))


def unused(conn: Connection, grants: sa.Table, host: str | None, users: Users) -> list[str]:
    """Return the ids of the grants of a host (None: of any) that have no users."""
    query = sa.select(grants.c.id) if host is None else sa.select(grants.c.id).where(grants.c.host == host)
    return [
        grant_id
        for (grant_id,) in conn.execute(query.order_by(grants.c.created_at)).all()
        if not users(conn, grant_id)
    ]


def known_rules(conn: Connection, grants: sa.Table, access_ids: Iterable[str]) -> set[str]:
    """Return those of the access rules that belong to a grant."""
    rows = conn.execute(sa.select(grants.c.access_id).where(grants.c.access_id.in_(tuple(access_ids))))
    return {access_id for (access_id,) in rows}
