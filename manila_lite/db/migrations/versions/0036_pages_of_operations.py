# SPDX-License-Identifier: Apache-2.0
"""Indexes for pages of operations, of a project and of all."""

from alembic import op

revision = '0036'
down_revision = '0035'


def upgrade() -> None:
    op.create_index('ix_operations_project_id_created_at', 'operations', ['project_id', 'created_at'])
    op.create_index('ix_operations_created_at', 'operations', ['created_at'])
