# SPDX-License-Identifier: Apache-2.0
"""Error codes of operations: a cancelled migration is known by its code, not by its text."""

from manila_lite.db.core import error_code_schema

revision = '0020'
down_revision = '0019'


def upgrade() -> None:
    error_code_schema.upgrade()
