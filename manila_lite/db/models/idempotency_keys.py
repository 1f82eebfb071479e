# SPDX-License-Identifier: Apache-2.0
"""Answers to requests that may be sent again: see ``Idempotency-Key``."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from manila_lite.db.models.base import Id, Time, metadata, times

idempotency_keys = sa.Table(
    'kept_answers',
    metadata,
    # Hash of project, user and key: short enough for every database, and it reveals no sender.
    sa.Column('id', sa.String(64), primary_key=True),
    *times(),
    # Hash of the request.
    sa.Column('request', sa.String(64), nullable=False),
    sa.Column('expires_at', Time, nullable=False, index=True),
    # The claim, and its end. There is no answer while there is no HTTP code.
    sa.Column('claim', Id, nullable=False),
    sa.Column('claimed_until', Time, nullable=False),
    sa.Column('code', sa.Integer),
    sa.Column('body', sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')),
)
