# SPDX-License-Identifier: Apache-2.0
"""Clusters keep what they had before they grow, and why their last change was undone."""

import sqlalchemy as sa
from alembic import op

from manila_lite.siblings.db.schema import JSON

revision = '0006'
down_revision = '0005'


def upgrade() -> None:
    with op.batch_alter_table('clusters') as clusters:
        clusters.add_column(sa.Column('scaling', JSON))
        clusters.add_column(sa.Column('fault', sa.Text))
