# SPDX-License-Identifier: Apache-2.0
"""Locks that are deleted with the transfer of their share."""

import sqlalchemy as sa
from alembic import op

revision = '0019'
down_revision = '0018'


def upgrade() -> None:
    op.add_column('resource_locks', sa.Column('transfer_id', sa.String(length=36), nullable=True))
