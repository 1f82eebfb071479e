# SPDX-License-Identifier: Apache-2.0
"""Operations keep the names of their steps. Those that are open get them when they go on."""

from manila_lite.db.core import step_schema

revision = '0007'
down_revision = '0006'


def upgrade() -> None:
    step_schema.add()
