# SPDX-License-Identifier: Apache-2.0
"""Operations keep the names of their steps."""

from manila_lite.db.core import step_schema

revision = '0021'
down_revision = '0020'


def upgrade() -> None:
    step_schema.add()
    step_schema.fill(at_the_scheduler='place')
