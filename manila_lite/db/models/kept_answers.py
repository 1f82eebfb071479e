# SPDX-License-Identifier: Apache-2.0
"""Answers to requests that may be sent again: see ``Idempotency-Key``."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from manila_lite.db.models.base import Id, Time, metadata, times

kept_answers = sa.Table(
    'kept_answers', metadata,
    # Hash of project, user and key: short enough for every database, and tells nobody who sent what.
    sa.Column('id', sa.String(64), primary_key=True),
    *times(),
    # Hash of what was asked.
    sa.Column('request', sa.String(64), nullable=False),
    sa.Column('expires_at', Time, nullable=False, index=True),
    # Who is answering, and until when nobody else does. There is no answer yet while there is no code, which is HTTP's.
    sa.Column('claim', Id, nullable=False),
    sa.Column('claimed_until', Time, nullable=False),
    sa.Column('code', sa.Integer),
    sa.Column('body', sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')),
)
