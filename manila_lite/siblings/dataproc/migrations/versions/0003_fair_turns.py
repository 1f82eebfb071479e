# SPDX-License-Identifier: Apache-2.0
"""Fair turns between projects: the turn of each operation, and indexes to find turns and claims."""

from manila_lite.db.core import turn_schema

revision = '0003'
down_revision = '0002'


def upgrade() -> None:
    turn_schema.upgrade()
