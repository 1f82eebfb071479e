# SPDX-License-Identifier: Apache-2.0
"""The schema for turns between projects (``db/queries/project_turns.py``), for the revisions that add it to a database."""

import sqlalchemy as sa
from alembic import op


def upgrade() -> None:
    """Add the column with the project whose turn an operation takes, and indexes of waiting and of claimed operations."""
    op.add_column('operations', sa.Column('turn_of', sa.String(255), nullable=False, server_default=''))
    rows = sa.table('operations', sa.column('turn_of'), sa.column('project_id'), sa.column('finished_at'))
    op.execute(
        rows.update()
        .where(rows.c.finished_at.is_(None), rows.c.project_id.is_not(None))
        .values(turn_of=rows.c.project_id)
    )
    op.create_index(
        'ix_operations_turns', 'operations', ['topic', 'host', 'state', 'lane', 'turn_of', 'next_run_at']
    )
    claimed = sa.text('owner IS NOT NULL')
    op.create_index(
        'ix_operations_claims',
        'operations',
        ['topic', 'host', 'owner'],
        postgresql_where=claimed,
        sqlite_where=claimed,
    )
    op.drop_index('ix_operations_due', 'operations')
