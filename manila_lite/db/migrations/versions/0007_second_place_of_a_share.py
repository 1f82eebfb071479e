# SPDX-License-Identifier: Apache-2.0
"""A second instance of a share: the target of its migration, or what that left behind. Present instances stay the first."""

import sqlalchemy as sa
from alembic import op

revision = '0007'
down_revision = '0006'


def upgrade() -> None:
    op.add_column(
        'share_instances', sa.Column('is_aside', sa.Boolean(), server_default=sa.false(), nullable=False)
    )
