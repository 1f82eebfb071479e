# SPDX-License-Identifier: Apache-2.0
"""A share may have a second instance: where it is moved to, or what it left behind. Those that there are stay the first."""

import sqlalchemy as sa
from alembic import op

revision = '0007'
down_revision = '0006'


def upgrade() -> None:
    op.add_column('share_instances', sa.Column('is_aside', sa.Boolean(), server_default=sa.false(), nullable=False))
