# SPDX-License-Identifier: Apache-2.0
"""Longer columns for encrypted secrets, and a check of the key. Present secrets stay until they are encrypted."""

import sqlalchemy as sa
from alembic import op

revision = '0018'
down_revision = '0017'


def upgrade() -> None:
    op.create_table(
        'secret_checks',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('value', sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_secret_checks'),
    )
    if (
        op.get_bind().dialect.name == 'sqlite'
    ):  # it takes any length, and would rebuild the table to change it
        return
    for table, column in (('security_services', 'password'), ('access_rules', 'access_key')):
        op.alter_column(
            table, column, type_=sa.Text(), existing_type=sa.String(length=255), existing_nullable=True
        )
