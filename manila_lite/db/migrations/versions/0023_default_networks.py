# SPDX-License-Identifier: Apache-2.0
"""Subnets in a default network keep the ids that their user gave. Deleted subnets wait for their unused servers."""

import sqlalchemy as sa
from alembic import op

revision = '0023'
down_revision = '0022'


def upgrade() -> None:
    for name in ('in_default_network', 'is_going'):
        op.add_column(
            'share_network_subnets', sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False)
        )
    for name in ('wanted_net_id', 'wanted_subnet_id'):
        op.add_column('share_network_subnets', sa.Column(name, sa.String(length=36), nullable=True))
