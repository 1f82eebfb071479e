# SPDX-License-Identifier: Apache-2.0
"""Turns of projects: the project whose turn an operation takes, and indexes to find turns and claims."""

from manila_lite.db.core import turn_schema

revision = '0017'
down_revision = '0016'


def upgrade() -> None:
    turn_schema.upgrade()
