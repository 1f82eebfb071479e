# SPDX-License-Identifier: Apache-2.0
"""Shares that could have replicas."""

import sqlalchemy as sa

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.core import transitions


def replicable(conn, share_ids, kind='dr'):
    """Make the shares replicable, each with itself as the active replica. Return the ids of these instances."""
    shares, instances = models.shares, models.share_instances
    conn.execute(shares.update().where(shares.c.id.in_(share_ids)).values(replication_type=kind))
    instance_ids = list(
        conn.execute(sa.select(instances.c.id).where(instances.c.share_id.in_(share_ids))).scalars()
    )
    for instance_id in instance_ids:
        transitions.set_replica_state(conn, instance_id, states.Replica.ACTIVE)
    return instance_ids
