# SPDX-License-Identifier: Apache-2.0
"""Limits. Usage is never stored: it is counted in the transaction that adds to it (db/queries/quotas.py)."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, metadata, times

quotas = sa.Table(
    'quotas', metadata, *times(),
    sa.Column('project_id', Name, primary_key=True),
    # One of user_id and share_type_id may narrow the limit. The empty string means that it does not, since a primary
    # key cannot hold null.
    sa.Column('user_id', Name, primary_key=True, server_default=''),
    sa.Column('share_type_id', Id, primary_key=True, server_default=''),
    sa.Column('resource', sa.String(64), primary_key=True),
    sa.Column('hard_limit', sa.Integer, nullable=False),
)

quota_classes = sa.Table(
    'quota_classes', metadata, *times(),
    sa.Column('class_name', Name, primary_key=True),
    sa.Column('resource', sa.String(64), primary_key=True),
    sa.Column('hard_limit', sa.Integer, nullable=False),
)

# A row per project that is updated first in every transaction that uses quota: the lock that
# makes counting and adding one step on every database.
quota_locks = sa.Table(
    'quota_locks', metadata,
    sa.Column('project_id', Name, primary_key=True),
    sa.Column('turn', sa.BigInteger, nullable=False, server_default='0'),
)
