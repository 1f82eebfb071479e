# SPDX-License-Identifier: Apache-2.0
"""How full shares are: the last measured value of each, and its history."""

import sqlalchemy as sa

from manila_lite.db.models.base import Gigabytes, Id, Name, Time, flag, metadata

share_usage = sa.Table(
    'share_usage',
    metadata,
    sa.Column('share_id', Id, sa.ForeignKey('shares.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('measured_at', Time, nullable=False),
    sa.Column('used_bytes', sa.BigInteger, nullable=False),
    sa.Column('limit_bytes', sa.BigInteger, nullable=False),
    # None of a backend that does not know.
    sa.Column('snapshot_bytes', sa.BigInteger),
    sa.Column('files', sa.BigInteger),
    # ``used_bytes`` in percent of ``limit_bytes``: the order of lists.
    sa.Column('percent_full', Gigabytes, nullable=False),
    # The highest threshold that its owner was told of, in percent; 0 below all of them.
    sa.Column('told_percent', sa.Integer, nullable=False, server_default='0'),
    # When it was last told of one that it had not crossed before: then it is an event.
    sa.Column('told_at', Time, index=True),
    # The owner was told that the quota, or the pool, has no room for its growth.
    flag('growth_refused'),
    sa.Index('ix_share_usage_percent_full_share_id', 'percent_full', 'share_id'),
)

# A ring for each share and resolution: the number of a moment's slot repeats, so that new values replace old ones. The rows of
# a share never become more than values.SERIES have slots.
share_usage_history = sa.Table(
    'share_usage_history',
    metadata,
    sa.Column('share_id', Id, sa.ForeignKey('shares.id', ondelete='CASCADE'), primary_key=True),
    # Seconds from slot to slot.
    sa.Column('resolution', sa.Integer, primary_key=True),
    sa.Column('slot', sa.Integer, primary_key=True),
    sa.Column('measured_at', Time, nullable=False),
    sa.Column('used_bytes', sa.BigInteger, nullable=False),
    sa.Column('limit_bytes', sa.BigInteger, nullable=False),
    sa.Column('snapshot_bytes', sa.BigInteger),
)

# The same, of sums: of all shares of a project, and of those of a pool. Rows outlive shares, so that a chart does not change
# when one is deleted; those whose owner has no shares any more are deleted when they are too old.
share_usage_sums = sa.Table(
    'share_usage_sums',
    metadata,
    sa.Column('kind', sa.String(7), primary_key=True),  # 'project' or 'pool'
    # The id of the project, or host@backend#pool.
    sa.Column('owner', Name, primary_key=True),
    sa.Column('resolution', sa.Integer, primary_key=True),
    sa.Column('slot', sa.Integer, primary_key=True),
    sa.Column('measured_at', Time, nullable=False),
    sa.Column('shares', sa.Integer, nullable=False),
    sa.Column('used_bytes', sa.BigInteger, nullable=False),
    sa.Column('limit_bytes', sa.BigInteger, nullable=False),
    sa.Column('snapshot_bytes', sa.BigInteger, nullable=False),
)
