# SPDX-License-Identifier: Apache-2.0
"""Error codes of operations."""

from manila_lite.db.core import error_code_schema

revision = '0006'
down_revision = '0005'


def upgrade() -> None:
    error_code_schema.upgrade()
