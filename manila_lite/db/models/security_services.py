# SPDX-License-Identifier: Apache-2.0
"""Security services (directories of a project's users), and the share networks that use them."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, Secret, Time, metadata, primary_key, times
from manila_lite.host import clock

security_services = sa.Table(
    'security_services',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('type', sa.String(32), nullable=False),
    sa.Column('name', Name),
    sa.Column('description', Name),
    sa.Column('dns_ip', Name),
    sa.Column('server', Name),
    sa.Column('domain', Name),
    sa.Column('user', Name),
    sa.Column('password', Secret),
    sa.Column('ou', Name),
    sa.Column('default_ad_site', Name),
    sa.Index('ix_security_services_project_id_created_at', 'project_id', 'created_at'),
)

share_network_security_services = sa.Table(
    'share_network_security_services',
    metadata,
    sa.Column(
        'share_network_id', Id, sa.ForeignKey('share_networks.id', ondelete='CASCADE'), primary_key=True
    ),
    # No cascade: a service in use cannot be deleted.
    sa.Column('security_service_id', Id, sa.ForeignKey('security_services.id'), primary_key=True, index=True),
    sa.Column('created_at', Time, nullable=False, default=clock.without_jumps),
)
