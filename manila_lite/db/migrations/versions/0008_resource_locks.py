# SPDX-License-Identifier: Apache-2.0
"""Locks of shares and access rules."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0008'
down_revision = '0007'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
#: Foreign keys: column, table, whether null is allowed. A lock is deleted with a row that it points to.
REFERENCES = (
    ('share_id', 'shares', False),
    ('access_id', 'access_rules', True),
    ('because_of', 'resource_locks', True),
)


def upgrade() -> None:
    op.create_table(
        'resource_locks',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('user_id', sa.String(length=255), nullable=True),
        sa.Column('project_id', sa.String(length=255), nullable=False),
        sa.Column('resource_action', sa.String(length=8), nullable=False),
        sa.Column('lock_context', sa.String(length=8), nullable=False),
        sa.Column('lock_reason', sa.String(length=1023), nullable=True),
        *(sa.Column(name, sa.String(length=36), nullable=nullable) for name, _, nullable in REFERENCES),
        *(
            sa.ForeignKeyConstraint(
                [name], [f'{table}.id'], name=f'fk_resource_locks_{name}', ondelete='CASCADE'
            )
            for name, table, _ in REFERENCES
        ),
        sa.PrimaryKeyConstraint('id', name='pk_resource_locks'),
    )
    for name, _, _ in REFERENCES:
        op.create_index(f'ix_resource_locks_{name}', 'resource_locks', [name], unique=False)
    op.create_index(
        'ix_resource_locks_project_id_created_at',
        'resource_locks',
        ['project_id', 'created_at'],
        unique=False,
    )
