# SPDX-License-Identifier: Apache-2.0
"""Indexes by the time of the last change, for whoever listens to events."""

from alembic import op

revision = '0026'
down_revision = '0025'

_TABLES = (
    'operations',
    'shares',
    'share_instances',
    'snapshots',
    'share_networks',
    'share_servers',
    'share_groups',
    'share_group_snapshots',
    'share_backups',
)


def upgrade() -> None:
    for table in _TABLES:
        op.create_index(f'ix_{table}_updated_at_created_at', table, ['updated_at', 'created_at'])
