# SPDX-License-Identifier: Apache-2.0
"""Room for secrets that are encrypted, and what tells the right key. What stands there stays until it is encrypted."""

import sqlalchemy as sa
from alembic import op

revision = '0018'
down_revision = '0017'


def upgrade() -> None:
    op.create_table(
        'secret_checks',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('value', sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_secret_checks'))
    if op.get_bind().dialect.name == 'sqlite':      # it takes any length, and knows no other way than to make the table anew
        return
    for table, column in (('security_services', 'password'), ('access_rules', 'access_key')):
        op.alter_column(table, column, type_=sa.Text(), existing_type=sa.String(length=255), existing_nullable=True)
