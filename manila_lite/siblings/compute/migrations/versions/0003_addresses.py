# SPDX-License-Identifier: Apache-2.0
"""Addresses of servers on networks, and the networks of each host."""

import sqlalchemy as sa
from alembic import op

from manila_lite.siblings.db.schema import JSON, TIME

revision = '0003'
down_revision = '0002'


def upgrade() -> None:
    op.create_table(
        'server_addresses',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('server_id', sa.String(36), nullable=False),
        sa.Column('network', sa.String(255), nullable=False),
        sa.Column('address', sa.String(64), nullable=False),
        sa.Column('mac', sa.String(17), nullable=False),
        sa.ForeignKeyConstraint(['server_id'], ['servers.id'], name='fk_server_addresses_server_id'),
        sa.PrimaryKeyConstraint('id', name='pk_server_addresses'),
        sa.UniqueConstraint('network', 'address', name='uq_server_addresses_network_address'),
        sa.UniqueConstraint('mac', name='uq_server_addresses_mac'),
    )
    op.create_index('ix_server_addresses_server_id', 'server_addresses', ['server_id'])
    with op.batch_alter_table('hosts') as hosts:
        hosts.add_column(sa.Column('networks', JSON))
