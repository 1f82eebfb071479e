# SPDX-License-Identifier: Apache-2.0
"""Subnets keep the reason why a share server could not be put into them."""

import sqlalchemy as sa
from alembic import op

revision = '0022'
down_revision = '0021'


def upgrade() -> None:
    op.add_column('share_network_subnets', sa.Column('error', sa.Text(), nullable=True))
