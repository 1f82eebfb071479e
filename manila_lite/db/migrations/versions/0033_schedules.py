# SPDX-License-Identifier: Apache-2.0
"""Schedules of snapshots and backups, and what they made."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0033'
down_revision = '0032'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
JSON = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table(
        'schedules',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('user_id', sa.String(length=255), nullable=True),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('all_projects', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('backup_type', sa.String(length=255), nullable=True),
        sa.Column('cron', sa.String(length=255), nullable=False),
        sa.Column('time_zone', sa.String(length=255), nullable=False),
        sa.Column('jitter', sa.Integer(), nullable=False),
        sa.Column('missed', sa.String(length=8), nullable=False),
        sa.Column('share_ids', JSON, nullable=True),
        sa.Column('share_metadata', JSON, nullable=True),
        sa.Column('share_type_id', sa.String(length=36), nullable=True),
        sa.Column('keep', JSON, nullable=False),
        sa.Column('name_prefix', sa.String(length=255), nullable=True),
        sa.Column('paused', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column('next_run_at', TIME, nullable=True),
        sa.Column('last_run_at', TIME, nullable=True),
        sa.Column('last_good_at', TIME, nullable=True),
        sa.Column('failing_since', TIME, nullable=True),
        sa.Column('problem_code', sa.String(length=64), nullable=True),
        sa.Column('problem', sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint('id', name='pk_schedules'),
    )
    op.create_index('ix_schedules_next_run_at', 'schedules', ['next_run_at'])
    op.create_index('ix_schedules_project_id_created_at', 'schedules', ['project_id', 'created_at'])
    op.create_index('ix_schedules_created_at', 'schedules', ['created_at'])
    op.create_table(
        'schedule_copies',
        sa.Column('resource_id', sa.String(length=36), nullable=False),
        sa.Column('schedule_id', sa.String(length=36), nullable=False),
        sa.Column('resource_type', sa.String(length=32), nullable=False),
        sa.Column('source_id', sa.String(length=36), nullable=False),
        sa.Column('run_at', TIME, nullable=False),
        sa.Column('was_good', sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ['schedule_id'], ['schedules.id'], name='fk_schedule_copies_schedule_id', ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('resource_id', name='pk_schedule_copies'),
        sa.UniqueConstraint(
            'schedule_id', 'run_at', 'source_id', name='uq_schedule_copies_schedule_id_run_at_source_id'
        ),
    )
