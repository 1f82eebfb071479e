# SPDX-License-Identifier: Apache-2.0
"""Images of projects, and the names of the operator's images on each host."""

import sqlalchemy as sa
from alembic import op

from manila_lite.siblings.db.schema import JSON, TIME

revision = '0005'
down_revision = '0004'


def upgrade() -> None:
    op.create_table(
        'server_images',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('server_id', sa.String(36), nullable=False),
        sa.Column('ready', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_server_images'),
        sa.UniqueConstraint('project_id', 'name', name='uq_server_images_project_id_name'),
    )
    op.create_index('ix_server_images_server_id', 'server_images', ['server_id'])
    with op.batch_alter_table('hosts') as hosts:
        hosts.add_column(sa.Column('images', JSON))
