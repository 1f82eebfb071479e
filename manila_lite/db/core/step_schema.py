# SPDX-License-Identifier: Apache-2.0
"""The schema for names of steps (``db/queries/operations.py``), for the revisions that add it to a database."""

import sqlalchemy as sa
from alembic import op

from manila_lite.db.core import step_names


def add() -> None:
    """Add the column with the names of the steps. The number of the present one stays: old processes use it."""
    op.add_column('operations', sa.Column('steps', sa.String(255), nullable=True))


def fill(at_the_scheduler: str) -> None:
    """Name the steps of all operations, in one statement. Those of unknown kinds stay without names."""
    rows = sa.table('operations', sa.column('steps'), sa.column('kind'), sa.column('topic'))
    by_kind = sa.case({kind: ' '.join(names) for kind, names in step_names.NAMES.items()}, value=rows.c.kind)
    op.execute(
        rows.update().values(steps=sa.case((rows.c.topic == 'scheduler', at_the_scheduler), else_=by_kind))
    )
