# SPDX-License-Identifier: Apache-2.0
"""Backups of shares."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context, states
from manila_lite.db import models
from manila_lite.db.core import host_time, paging
from manila_lite.db.core.rows import get_row, updater

_backups = models.share_backups
_instances = models.share_instances
_operations = models.operations

#: Kinds of operations on one backup.
CREATE, RESTORE, DELETE = (f'share_backup.{verb}' for verb in ('create', 'restore', 'delete'))
KINDS = (CREATE, RESTORE, DELETE)

#: Statuses of backups that are being copied to or from.
_COPYING = tuple(states.SHARE_BACKUP[verb].during for verb in ('create', 'restore'))

#: All backups are worked on through this queue.
_TOPIC = sa.literal('share').label('topic')

#: All columns that a list may be sorted by.
SORTABLE = {
    **{column.name: column for column in _backups.c if column.key != 'copy_client'},
    'topic': _TOPIC,
    'display_name': _backups.c.name,
    'display_description': _backups.c.description,
}


def _select() -> sa.Select[Any]:
    return sa.select(*_backups.c, _TOPIC)


def get(conn: Connection, ctx: context.RequestContext, backup_id: str) -> Row[Any]:
    """Return a backup of the caller's project (of any, for an administrator).

    :raises errors.NotFound: there is none.
    """
    mine = [] if ctx.is_admin else [_backups.c.project_id == ctx.project_id]
    return get_row(conn, _select().where(_backups.c.id == backup_id, *mine), 'share backup', backup_id)


def find(conn: Connection, backup_id: str) -> Row[Any] | None:
    """Return a backup of any project, or None."""
    return conn.execute(_select().where(_backups.c.id == backup_id)).first()


def count_of(conn: Connection, share_id: str) -> int:
    """Return how many backups a share has."""
    return conn.execute(sa.select(sa.func.count()).where(_backups.c.share_id == share_id)).scalar_one()


class MainInstance(NamedTuple):
    """The main instance of a share."""

    id: str
    host: str


def instance_of(conn: Connection, share_id: str) -> MainInstance | None:
    """Return the share's main instance, or None if the share is gone."""
    row = conn.execute(
        sa.select(_instances.c.id, _instances.c.host).where(
            _instances.c.share_id == share_id, ~_instances.c.is_secondary
        )
    ).first()
    return MainInstance(*row) if row else None


def list_copying(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return the backups that the share is being copied to, or from, at this moment."""
    return list(
        conn.execute(
            _select()
            .where(
                sa.or_(
                    sa.and_(
                        _backups.c.share_id == share_id,
                        _backups.c.status == states.SHARE_BACKUP['create'].during,
                    ),
                    sa.and_(
                        _backups.c.target_share_id == share_id,
                        _backups.c.status == states.SHARE_BACKUP['restore'].during,
                    ),
                )
            )
            .order_by(_backups.c.id)
        )
    )


_EQUAL = ('share_id', 'name', 'description', 'status', 'size', 'host', 'backup_type', 'user_id')


def _listed(filters: dict[str, Any], project_id: str | None) -> sa.Select[Any]:
    where = paging.conditions(filters, _backups.c, _EQUAL, ('name', 'description'), project_id)
    if filters.get('topic') is not None:
        where.append(_TOPIC.element == filters['topic'])
    return _select().where(*where)


def list_backups(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return the backups of a project (None: of all)."""
    return list(conn.execute(page.apply(_listed(filters, project_id), SORTABLE, tie=_backups.c.id)).all())


def count(conn: Connection, filters: dict[str, Any], *, project_id: str | None) -> int:
    """Return how many backups ``list_backups`` would find without a page."""
    return conn.execute(
        sa.select(sa.func.count()).select_from(_listed(filters, project_id).subquery())
    ).scalar_one()


def list_ended_with_access(conn: Connection, host: str) -> dict[str, str]:
    """Return the shares of a backend that still give access to a client whose copy has ended, each with its backup."""
    mine = sa.func.coalesce(_backups.c.target_share_id, _backups.c.share_id)
    return {
        row.share_id: row.id
        for row in conn.execute(
            sa.select(mine.label('share_id'), _backups.c.id)
            .join(_instances, _instances.c.share_id == mine)
            .where(
                _backups.c.copy_client.is_not(None),
                ~_backups.c.status.in_(_COPYING),
                ~_instances.c.is_secondary,
                _instances.c.host.startswith(f'{host}#', autoescape=True),
            )
        )
    }


def clear_copy_clients(conn: Connection, backup_ids: Iterable[str]) -> None:
    """Record that access of copying clients of these backups was withdrawn, unless they are being copied again."""
    conn.execute(
        _backups.update()
        .where(_backups.c.id.in_(tuple(backup_ids)), ~_backups.c.status.in_(_COPYING))
        .values(copy_client=None)
    )


def is_claimed(conn: Connection, backup_id: str) -> bool:
    """Say whether an operation on the backup is claimed at this moment."""
    return (
        conn.execute(
            sa.select(_operations.c.id)
            .where(
                _operations.c.resource_id == backup_id,
                _operations.c.kind.in_(KINDS),
                _operations.c.state == 'open',
                _operations.c.lease_expires_at >= host_time.now(conn),
            )
            .limit(1)
        ).first()
        is not None
    )


def move_deletions(conn: Connection, old: str, new: str) -> tuple[int, int]:
    """Have the backend ``new`` delete the backups of ``old``. Return their number, and that of waiting deletions."""
    waiting = conn.execute(
        _operations.update()
        .where(
            _operations.c.kind == DELETE,
            _operations.c.host == old,
            _operations.c.state.in_(('open', 'parked')),
        )
        .values(host=new, owner=None, lease_expires_at=None, next_run_at=host_time.now(conn))
    ).rowcount
    return conn.execute(_backups.update().where(_backups.c.host == old).values(host=new)).rowcount, waiting


#: Set these values of the backup. Never a status.
update = updater(_backups)
