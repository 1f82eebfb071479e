# SPDX-License-Identifier: Apache-2.0
"""A page of shares is read in the order it is shown in, out of however many there are: the indexes end with the id."""

from alembic import op

revision = '0005'
down_revision = '0004'


def upgrade() -> None:
    op.create_index('ix_shares_project_id_created_at_id', 'shares', ['project_id', 'created_at', 'id'], unique=False)
    op.create_index('ix_shares_created_at_id', 'shares', ['created_at', 'id'], unique=False)
    op.drop_index('ix_shares_project_id_created_at', 'shares')
    op.drop_index('ix_shares_created_at', 'shares')
