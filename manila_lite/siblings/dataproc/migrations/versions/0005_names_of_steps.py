# SPDX-License-Identifier: Apache-2.0
"""Operations keep the names of their steps. Those that are open get them when they go on."""

from manila_lite.db.core import step_schema

revision = '0005'
down_revision = '0004'


def upgrade() -> None:
    step_schema.add()
