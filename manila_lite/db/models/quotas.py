# SPDX-License-Identifier: Apache-2.0
"""Limits, and the changes of usage, which the database itself writes (quota_triggers.py)."""

import sqlalchemy as sa

from manila_lite.db.models import quota_triggers
from manila_lite.db.models.base import Id, Name, metadata, times

quotas = sa.Table(
    'quotas',
    metadata,
    *times(),
    sa.Column('project_id', Name, primary_key=True),
    # One of user_id and share_type_id may narrow the limit. The empty string means that it does not, since a primary
    # key cannot hold null.
    sa.Column('user_id', Name, primary_key=True, server_default=''),
    sa.Column('share_type_id', Id, primary_key=True, server_default=''),
    sa.Column('resource', sa.String(64), primary_key=True),
    sa.Column('hard_limit', sa.Integer, nullable=False),
)

quota_classes = sa.Table(
    'quota_classes',
    metadata,
    *times(),
    sa.Column('class_name', Name, primary_key=True),
    sa.Column('resource', sa.String(64), primary_key=True),
    sa.Column('hard_limit', sa.Integer, nullable=False),
)

# A row per project that is updated first in every transaction that uses quota: the lock that
# makes counting and adding one step on every database.
quota_locks = sa.Table(
    'quota_locks',
    metadata,
    sa.Column('project_id', Name, primary_key=True),
    sa.Column('turn', sa.BigInteger, nullable=False, server_default='0'),
)

# Usage is the sum of all changes. Only triggers write them; db/queries/quota_sums.py puts many into one.
quota_changes = sa.Table(
    quota_triggers.TABLE,
    metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
    sa.Column('project_id', Name, nullable=False, index=True),
    # The empty string stands for none.
    sa.Column('user_id', Name, nullable=False),
    sa.Column('resource', sa.String(32), nullable=False),
    sa.Column('encryption_key_ref', Id, nullable=False),
    # Changes of the number of rows of the table ``resource``, of their GiB, and of the GiB that running resizes will add.
    sa.Column('number', sa.Integer, nullable=False),
    sa.Column('gigabytes', sa.BigInteger, nullable=False),
    sa.Column('growth', sa.BigInteger, nullable=False),
)


@sa.event.listens_for(metadata, 'after_create')
def _created(target: sa.MetaData, conn: sa.Connection, **more: object) -> None:
    quota_triggers.create(conn)
