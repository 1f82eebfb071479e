# SPDX-License-Identifier: Apache-2.0
"""The check by which a process can tell whether it has the right key, before it writes with a wrong one."""

import sqlalchemy as sa

from manila_lite.db.models.base import metadata

#: One row: a known word, encrypted like secrets.
secret_checks = sa.Table(
    'secret_checks',
    metadata,
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('value', sa.Text, nullable=False),
)
