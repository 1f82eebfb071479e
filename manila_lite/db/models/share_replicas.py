# SPDX-License-Identifier: Apache-2.0
"""Tables of replicas only: metadata of their own, and copies of their share's snapshots."""

import sqlalchemy as sa

from manila_lite.db.models.base import Name, metadata, pairs, primary_key, ref, times

share_instance_metadata = pairs('share_instance_metadata', 'share_instances')

#: A row for each snapshot that a replica other than the active one holds.
replica_snapshots = sa.Table(
    'replica_snapshots',
    metadata,
    primary_key(),
    *times(),
    ref('snapshot_id', 'snapshots.id', cascade=True),
    ref('share_instance_id', 'share_instances.id', cascade=True),
    sa.Column('provider_location', Name),
)
