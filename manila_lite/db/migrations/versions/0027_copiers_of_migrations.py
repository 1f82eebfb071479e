# SPDX-License-Identifier: Apache-2.0
"""Migrations by a host that mounts the share: whom its backend admits meanwhile."""

import sqlalchemy as sa
from alembic import op

revision = '0027'
down_revision = '0026'


def upgrade() -> None:
    op.add_column('share_instances', sa.Column('copier', sa.String(length=255), nullable=True))
    op.add_column(
        'share_instances',
        sa.Column('copier_key', sa.Text().with_variant(sa.String(255), 'sqlite'), nullable=True),
    )
