# SPDX-License-Identifier: Apache-2.0
"""Share networks, their subnets, and the addresses that are in use in them."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, by_change, flag, metadata, pairs, primary_key, ref, times

share_networks = sa.Table(
    'share_networks',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('name', Name),
    sa.Column('description', Name),
    sa.Column('status', Name, nullable=False),
    # Deleted for its owner; the row is deleted with the last of its unused servers.
    flag('is_going', key='deletion_deferred'),
    sa.Index('ix_share_networks_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_share_networks_created_at', 'created_at'),
    by_change('share_networks'),
)

share_network_subnets = sa.Table(
    'share_network_subnets',
    metadata,
    primary_key(),
    *times(),
    ref('share_network_id', 'share_networks.id', cascade=True),
    # Null: for all zones without a subnet of their own.
    ref('availability_zone_id', 'availability_zones.id', nullable=True),
    # The ids of the network plugin: clients choose subnets by them, with any plugin.
    sa.Column('neutron_net_id', Id),
    sa.Column('neutron_subnet_id', Id, index=True),
    # In a default network: its user chose none, or one that the plugin does not know. Then these are shown, and nothing else
    # may be done with them: they could be the ids of a network that is not for this user.
    flag('in_default_network'),
    sa.Column('wanted_net_id', Id),
    sa.Column('wanted_subnet_id', Id),
    sa.Column('network_type', sa.String(32)),
    sa.Column('segmentation_id', sa.Integer),
    sa.Column('cidr', sa.String(64)),
    sa.Column('gateway', sa.String(64)),
    sa.Column('mtu', sa.Integer),
    sa.Column('ip_version', sa.Integer),
    # Deleted for its owner; the row is deleted with the last of its unused servers.
    flag('is_going', key='deletion_deferred'),
    # Why a share server in use could not be put into it; null once all servers of the zone are in it.
    sa.Column('error', sa.Text),
)

share_network_subnet_metadata = pairs('share_network_subnet_metadata', 'share_network_subnets')

network_allocations = sa.Table(
    'network_allocations',
    metadata,
    primary_key(),
    *times(),
    # No cascade: before a server is deleted its addresses must be freed, or they would leak at the plugin.
    ref('share_server_id', 'share_servers.id'),
    # Null: in the administrators' network.
    ref('share_network_subnet_id', 'share_network_subnets.id', nullable=True),
    # Several share networks may have subnets in the same subnet of the plugin, so addresses are unique there.
    sa.Column('neutron_subnet_id', Id),
    sa.Column('ip_address', sa.String(64), nullable=False),
    sa.Column('mac_address', sa.String(32)),
    # The plugin's own id of the address, if it keeps a record.
    sa.Column('port_id', Id),
    sa.Column('label', Name),
    sa.Column('network_type', sa.String(32)),
    sa.Column('segmentation_id', sa.Integer),
    sa.Column('cidr', sa.String(64)),
    sa.Column('gateway', sa.String(64)),
    sa.Column('mtu', sa.Integer),
    sa.Column('ip_version', sa.Integer),
    sa.UniqueConstraint('neutron_subnet_id', 'ip_address'),
)
