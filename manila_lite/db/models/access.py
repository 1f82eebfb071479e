# SPDX-License-Identifier: Apache-2.0
"""Access rules of shares."""

import sqlalchemy as sa

from manila_lite.db.models.base import Name, Secret, metadata, pairs, primary_key, ref, times

access_rules = sa.Table(
    'access_rules',
    metadata,
    primary_key(),
    *times(),
    ref('share_id', 'shares.id', cascade=True),
    sa.Column('access_type', sa.String(32), nullable=False),
    sa.Column('access_to', Name, nullable=False),
    sa.Column('access_level', sa.String(8), nullable=False),
    sa.Column('access_key', Secret),
    sa.Column('state', Name, nullable=False),
)

access_rule_metadata = pairs('access_rule_metadata', 'access_rules')
