# SPDX-License-Identifier: Apache-2.0
"""GiB of pools in double precision: MariaDB's FLOAT has single precision, and shows six digits."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0016'
down_revision = '0015'

#: Columns of ``pools``, with their defaults.
_COLUMNS = {
    'total_gb': None,
    'free_gb': None,
    'allocated_gb': '0',
    'claimed_gb': '0',
    'provisioned_gb': '0',
    'max_over_subscription_ratio': '1',
}


def upgrade() -> None:
    if op.get_bind().dialect.name != 'mysql':  # a float has double precision everywhere else
        return
    for name, default in _COLUMNS.items():
        op.alter_column(
            'pools',
            name,
            type_=mysql.DOUBLE(),
            existing_type=sa.Float(),
            existing_nullable=False,
            existing_server_default=default,
        )
