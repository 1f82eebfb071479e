# SPDX-License-Identifier: Apache-2.0
"""User messages: the reasons why requests that were accepted failed later."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, Time, metadata, primary_key, times

messages = sa.Table(
    'messages',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('request_id', Name),
    sa.Column('resource_type', Name),
    # No foreign key: a message outlives its resource.
    sa.Column('resource_id', Id, index=True),
    sa.Column('action_id', sa.String(10), nullable=False),
    sa.Column('detail_id', sa.String(10), nullable=False),
    sa.Column('message_level', Name, nullable=False),
    sa.Column('text', sa.Text),
    sa.Column('expires_at', Time, index=True),
    sa.Index('ix_messages_project_id_created_at', 'project_id', 'created_at'),
)
