# SPDX-License-Identifier: Apache-2.0
"""The schema for error codes of operations, for the revisions that add it to a database."""

import sqlalchemy as sa
from alembic import op

#: Codes of operations that ended before there were codes, by their error texts.
_CODES = {'The migration was called off.': 'migration_cancelled', 'superseded': 'superseded'}


def upgrade() -> None:
    """Add the column, and set the codes that are looked up later."""
    op.add_column('operations', sa.Column('error_code', sa.String(64), nullable=True))
    rows = sa.table('operations', sa.column('error', sa.Text), sa.column('error_code'))
    for text, code in _CODES.items():
        op.execute(rows.update().where(rows.c.error == text).values(error_code=code))
