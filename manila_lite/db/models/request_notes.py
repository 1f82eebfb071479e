# SPDX-License-Identifier: Apache-2.0
"""Notes of requests that were slow or ended in an error of the service."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from manila_lite.db.models.base import Name, Time, metadata, primary_key

request_notes = sa.Table(
    'request_notes',
    metadata,
    primary_key(),
    # When the request was answered.
    sa.Column('created_at', Time, nullable=False, index=True),
    # Not ``host``: tables with that column have the resources of backends.
    sa.Column('api_host', Name, nullable=False),
    # None of a row that counts several requests.
    sa.Column('method', sa.String(16)),
    sa.Column('path', Name),
    sa.Column('code', sa.Integer),
    sa.Column('request_id', Name),
    sa.Column('project_id', Name),
    # Of several requests, the longest.
    sa.Column(
        'seconds', sa.Float().with_variant(mysql.DOUBLE(asdecimal=False), 'mysql', 'mariadb'), nullable=False
    ),
    # How many requests the row is about, and how many of them were slow, and failed.
    sa.Column('requests', sa.Integer, nullable=False),
    sa.Column('slow', sa.Integer, nullable=False),
    sa.Column('failed', sa.Integer, nullable=False),
)
