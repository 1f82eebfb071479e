# SPDX-License-Identifier: Apache-2.0
"""Migrations that were parked after their cut-over: they cannot be undone, only tried again."""

from typing import Any

from manila_lite import context, errors
from manila_lite.db import operations, server_migrations, share_migrations
from manila_lite.db.engine import Connection
from manila_lite.operations import migrating, share_migrating
from manila_lite.operations.doctor.finding import Desk
from manila_lite.operations.plans import Work

_FAILED = {server_migrations.KIND: migrating.cut_failed, share_migrations.KIND: share_migrating.cut_failed}


def is_cut(op: Any, data: dict[str, Any] | None) -> bool:
    """Say whether an operation is a migration whose target may hold the only data. ``data`` is the operation's data."""
    return op.kind in _FAILED and bool((data or {}).get('cut'))


def fail(conn: Connection, desk: Desk, ident: str) -> str | None:
    """End the parked migration as failed, like the plan does: everything that moves is in error, and kept."""
    if not operations.fail_parked(conn, ident):
        return None
    op = operations.get(conn, ident)
    if op is None:
        return None
    work = Work(op, dict(op.data), context.behind(op, desk.services), None)
    _FAILED[op.kind](conn, work, errors.ManilaLiteError(op.error or ''))
    return 'its cut-over has failed, and everything is kept: say migration_complete once more'
