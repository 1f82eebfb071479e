# SPDX-License-Identifier: Apache-2.0
"""Share servers, and the subnets of each."""

import sqlalchemy as sa

from manila_lite.db.models.base import (
    Id,
    Name,
    Time,
    by_change,
    flag,
    metadata,
    pairs,
    primary_key,
    ref,
    times,
)
from manila_lite.host import clock

share_servers = sa.Table(
    'share_servers',
    metadata,
    primary_key(),
    *times(),
    # No cascade: a network with servers cannot be deleted.
    ref('share_network_id', 'share_networks.id'),
    sa.Column('host', Name, nullable=False),
    sa.Column('status', Name, nullable=False),
    sa.Column('task_state', Name),
    # No foreign key: it names a server that was deleted when this one took its place.
    sa.Column('source_share_server_id', Id, index=True),
    sa.Column('identifier', Name),
    flag('is_auto_deletable', default=True),
    # The backend's abilities when the server was created; manila-manage brings them up to date.
    flag('security_service_update_support'),
    flag('network_allocation_update_support'),
    flag('share_server_multiple_subnet_support'),
    flag('share_replicas_migration_support'),
    sa.Column('encryption_key_ref', Id),
    sa.Index('ix_share_servers_host_status', 'host', 'status'),
    by_change('share_servers'),
)

#: Values that the driver stores for the server.
share_server_details = pairs('share_server_details', 'share_servers')

# Names by convention would be longer than databases allow.
share_server_share_network_subnet_mappings = sa.Table(
    'share_server_share_network_subnet_mappings',
    metadata,
    sa.Column(
        'share_server_id',
        Id,
        sa.ForeignKey('share_servers.id', name='fk_server_subnet_mappings_server', ondelete='CASCADE'),
        nullable=False,
    ),
    # No cascade: a subnet with servers in it cannot be deleted.
    sa.Column(
        'share_network_subnet_id',
        Id,
        sa.ForeignKey('share_network_subnets.id', name='fk_server_subnet_mappings_subnet'),
        nullable=False,
    ),
    sa.Column('created_at', Time, nullable=False, default=clock.without_jumps),
    sa.PrimaryKeyConstraint('share_server_id', 'share_network_subnet_id', name='pk_server_subnet_mappings'),
    sa.Index('ix_server_subnet_mappings_subnet', 'share_network_subnet_id'),
)
