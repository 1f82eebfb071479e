# SPDX-License-Identifier: Apache-2.0
"""Schedules whose runs are not good."""

from collections.abc import Iterator

from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import schedules
from manila_lite.doctor.finding import Finding, RepairContext


def find(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield schedules whose last run was not good. Only their owners can mend them."""
    for row in schedules.list_failing(conn):
        good = f'{row.last_good_at:%Y-%m-%d %H:%M} UTC' if row.last_good_at else 'never'
        yield Finding(
            'schedule',
            row.id,
            'failing',
            f'its last good run: {good}; see "openstack share schedule show"',
            wrong=True,
            about=row.name or '',
            project_id=row.project_id,
            age=repair.age(row.failing_since),
            error=row.problem,
        )
