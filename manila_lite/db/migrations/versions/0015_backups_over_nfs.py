# SPDX-License-Identifier: Apache-2.0
"""Backups by a manager that mounts the share: the address that has access meanwhile."""

import sqlalchemy as sa
from alembic import op

revision = '0015'
down_revision = '0014'


def upgrade() -> None:
    op.add_column('share_backups', sa.Column('copier', sa.String(length=255), nullable=True))
