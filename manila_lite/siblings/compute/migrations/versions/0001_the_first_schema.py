# SPDX-License-Identifier: Apache-2.0
"""The first schema of the compute service."""

import sqlalchemy as sa
from alembic import op

from manila_lite.siblings.db import schema
from manila_lite.siblings.db.schema import JSON, TIME

revision = '0001'
down_revision = None


def upgrade() -> None:
    schema.create()
    schema.create_grants()
    op.create_table(
        'hosts',
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('virtiofs', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('shared_memory', sa.Boolean, server_default=sa.false(), nullable=False),
        sa.Column('protocols', JSON, nullable=False),
        sa.Column('address', sa.String(255), nullable=False),
        sa.Column('reported_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('host', name='pk_hosts'),
    )
    op.create_table(
        'servers',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255)),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('status', sa.String(32), nullable=False),
        sa.Column('spec', JSON, nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('launched_at', TIME),
        sa.PrimaryKeyConstraint('id', name='pk_servers'),
    )
    op.create_index('ix_servers_project_id', 'servers', ['project_id'])
    op.create_index('ix_servers_host', 'servers', ['host'])
    op.create_table(
        'share_attachments',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('server_id', sa.String(36), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('share_id', sa.String(36), nullable=False),
        sa.Column('tag', sa.String(36), nullable=False),
        sa.Column('status', sa.String(32), nullable=False),
        sa.Column('export_location', sa.Text, nullable=False),
        sa.Column('share_proto', sa.String(32), nullable=False),
        sa.Column('grant_id', sa.String(36)),
        sa.Column('fault', sa.Text),
        sa.ForeignKeyConstraint(['server_id'], ['servers.id'], name='fk_share_attachments_server_id'),
        sa.PrimaryKeyConstraint('id', name='pk_share_attachments'),
        sa.UniqueConstraint('server_id', 'share_id', name='uq_share_attachments_server_id_share_id'),
        sa.UniqueConstraint('server_id', 'tag', name='uq_share_attachments_server_id_tag'),
    )
    for column in ('host', 'share_id', 'grant_id'):
        op.create_index(f'ix_share_attachments_{column}', 'share_attachments', [column])
    op.create_table(
        'server_events',
        sa.Column('id', sa.String(36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME),
        sa.Column('server_id', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255)),
        sa.Column('request_id', sa.String(255)),
        sa.Column('event', sa.String(64), nullable=False),
        sa.Column('message', sa.Text),
        sa.PrimaryKeyConstraint('id', name='pk_server_events'),
    )
    op.create_index('ix_server_events_server_id', 'server_events', ['server_id'])
