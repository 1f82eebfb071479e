# SPDX-License-Identifier: Apache-2.0
"""The tables of the compute service."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Json, Name, Time, flag, primary_key, ref, times
from manila_lite.siblings import grants
from manila_lite.siblings.db import schema

metadata = schema.metadata()

#: Reports of hosts: whether their servers can have shares, the address that access rules must admit, the ids of the
#: networks that their servers can be on, and the names of the operator's images, for all projects.
hosts = sa.Table(
    'hosts',
    metadata,
    sa.Column('host', Name, primary_key=True),
    *times(),
    flag('virtiofs'),
    flag('shared_memory'),
    sa.Column('protocols', Json, nullable=False),
    sa.Column('address', sa.String(255), nullable=False),
    sa.Column('networks', Json),
    sa.Column('images', Json),
    sa.Column('reported_at', Time, nullable=False),
)

servers = sa.Table(
    'servers',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False, index=True),
    sa.Column('user_id', Name),
    sa.Column('name', Name, nullable=False),
    sa.Column('host', Name, nullable=False, index=True),
    sa.Column('status', sa.String(32), nullable=False),
    sa.Column('spec', Json, nullable=False),
    sa.Column('fault', sa.Text),
    sa.Column('launched_at', Time),
)

#: Addresses of servers. The other values of a server's interface are in its ``spec``, since they never change.
server_addresses = sa.Table(
    'server_addresses',
    metadata,
    primary_key(),
    *times(),
    ref('server_id', 'servers.id'),
    sa.Column('network', Name, nullable=False),
    sa.Column('address', sa.String(64), nullable=False),
    sa.Column('mac', sa.String(17), nullable=False),
    sa.UniqueConstraint('network', 'address'),
    sa.UniqueConstraint('mac'),
)

#: Images made of servers, with a name that is unique in the project. ``ready``: the file is complete.
server_images = sa.Table(
    'server_images',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('name', Name, nullable=False),
    sa.Column('host', Name, nullable=False),
    sa.Column('server_id', Id, nullable=False, index=True),
    flag('ready'),
    sa.UniqueConstraint('project_id', 'name'),
)

share_attachments = sa.Table(
    'share_attachments',
    metadata,
    primary_key(),
    *times(),
    sa.Column('server_id', Id, sa.ForeignKey('servers.id'), nullable=False),
    sa.Column('host', Name, nullable=False, index=True),
    sa.Column('share_id', Id, nullable=False, index=True),
    sa.Column('tag', sa.String(36), nullable=False),
    sa.Column('status', sa.String(32), nullable=False),
    sa.Column('export_location', sa.Text, nullable=False),
    sa.Column('share_proto', sa.String(32), nullable=False),
    sa.Column('grant_id', Id, index=True),
    sa.Column('fault', sa.Text),
    sa.UniqueConstraint('server_id', 'share_id'),
    sa.UniqueConstraint('server_id', 'tag'),
)

share_grants = grants.table(metadata)

#: Requests about a server, and other events of it. They stay for a while after the server is deleted.
server_events = sa.Table(
    'server_events',
    metadata,
    primary_key(),
    *times(),
    sa.Column('server_id', Id, nullable=False, index=True),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('request_id', Name),
    sa.Column('event', sa.String(64), nullable=False),
    sa.Column('message', sa.Text),
)
