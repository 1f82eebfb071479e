# SPDX-License-Identifier: Apache-2.0
"""Availability zones, services with their heartbeats, and the pools that they report."""

import sqlalchemy as sa

from manila_lite.db.models.base import (
    Gigabytes,
    Json,
    Name,
    Seconds,
    Time,
    flag,
    metadata,
    primary_key,
    ref,
    times,
)

availability_zones = sa.Table(
    'availability_zones',
    metadata,
    primary_key(),
    *times(),
    sa.Column('name', Name, nullable=False, unique=True),
)

services = sa.Table(
    'services',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=True),
    *times(),
    sa.Column('host', Name, nullable=False),
    sa.Column('binary', Name, nullable=False),
    sa.Column('topic', Name),
    ref('availability_zone_id', 'availability_zones.id', nullable=True, index=False),
    sa.Column('heartbeat_at', Time),
    flag('stopped'),
    flag('disabled'),
    sa.Column('disabled_reason', Name),
    flag('ensuring'),
    # When all shares were last ensured, and the fingerprint that the backend had then.
    sa.Column('ensured_at', Time),
    sa.Column('ensured_as', Name),
    # The backend lease: of several processes for one backend, the owner works there; and its end unless renewed.
    sa.Column('lease_owner', Name),
    sa.Column('lease_expires_at', Time),
    # The release that the service runs, and the time of the heartbeat that told it. A process of a release that does not tell
    # it leaves both as they are: then they are of another time than the last heartbeat.
    sa.Column('release', sa.String(64)),
    sa.Column('release_at', Time),
    # Seconds by which the clock of its host was ahead of the database's, at that heartbeat; negative: behind.
    sa.Column('clock_ahead', Seconds),
    sa.UniqueConstraint('host', 'binary'),
)

# The machines that are configured for a backend with failover. Each reports itself, the one that serves with its lease.
backend_machines = sa.Table(
    'backend_machines',
    metadata,
    sa.Column('backend_host', Name, primary_key=True),  # host@backend
    sa.Column('machine', Name, primary_key=True),
    sa.Column('owner', Name, nullable=False),  # the process there
    sa.Column('seen_at', Time, nullable=False),
    # From then on it counts as dead, unless it reports itself before.
    sa.Column('expires_at', Time, nullable=False),
    sa.Column('stage', sa.String(16), nullable=False),
    # Why it could not take over.
    sa.Column('problem', Name),
    flag('drained'),
)

pools = sa.Table(
    'pools',
    metadata,
    sa.Column('host', Name, primary_key=True),  # host@backend#pool
    sa.Column('backend_host', Name, nullable=False, index=True),
    sa.Column('total_gb', Gigabytes, nullable=False),
    sa.Column('free_gb', Gigabytes, nullable=False),
    sa.Column('allocated_gb', Gigabytes, nullable=False, server_default='0'),
    # Promised by schedulers since the report of this generation.
    sa.Column('claimed_gb', Gigabytes, nullable=False, server_default='0'),
    sa.Column('provisioned_gb', Gigabytes, nullable=False, server_default='0'),
    sa.Column('reserved_percentage', sa.Integer, nullable=False, server_default='0'),
    flag('thin_provisioning'),
    sa.Column('max_over_subscription_ratio', Gigabytes, nullable=False, server_default='1'),
    sa.Column('capabilities', Json, nullable=False),
    sa.Column('generation', sa.Integer, nullable=False, server_default='0'),
    sa.Column('reported_at', Time, nullable=False),
)
