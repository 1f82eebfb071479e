# SPDX-License-Identifier: Apache-2.0
"""Operations. The row is the truth; a message on the bus only says that it is there."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Json, Name, Time, by_change, metadata, primary_key, times

operations = sa.Table(
    'operations',
    metadata,
    primary_key(),
    *times(),
    sa.Column('kind', sa.String(64), nullable=False),
    sa.Column('resource_type', sa.String(64), nullable=False),
    sa.Column('resource_id', Id, nullable=False, index=True),
    sa.Column('project_id', Name),
    sa.Column('user_id', Name),
    sa.Column('request_id', Name),
    # The queue: "scheduler", or "share" together with the backend's host.
    sa.Column('topic', sa.String(32), nullable=False),
    sa.Column('host', Name, nullable=False, server_default=''),
    sa.Column('lane', sa.String(8), nullable=False),
    # Whose turn it takes in the queue: the project's. Operations without a project take turns with projects.
    sa.Column('turn_of', Name, nullable=False, server_default='', key='fair_share_key'),
    # At most one operation with the same key is open, and no two with the same mutex key run together.
    sa.Column('open_key', Name, unique=True, key='unique_key'),
    sa.Column('serial', Name, key='mutex_key'),
    sa.Column('state', sa.String(16), nullable=False),
    # Where it stands: the number of the step, from 0 on, in the list of names in ``steps``, which is that of the plan by
    # which the row was last written. Without names, nobody has begun (or only the release before, which knows numbers).
    sa.Column('step', sa.Integer, nullable=False, server_default='0'),
    sa.Column('steps', Name),
    sa.Column('undoing', sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column('wanted', sa.Integer, nullable=False, server_default='1', key='requested_count'),
    sa.Column('attempts', sa.Integer, nullable=False, server_default='0'),
    sa.Column('data', Json, nullable=False),
    sa.Column('error', sa.Text),
    # The code of that error (``errors.py``), for programs.
    sa.Column('error_code', sa.String(64)),
    sa.Column('next_run_at', Time, nullable=False),
    sa.Column('owner', Name),
    sa.Column('lease_expires_at', Time),
    sa.Column('finished_at', Time, index=True),
    sa.Index('ix_operations_turns', 'topic', 'host', 'state', 'lane', 'fair_share_key', 'next_run_at'),
    # Few rows are claimed: where the database can, the index holds only these, and is used for nothing else. Its condition is
    # in the migration (``turn_schema.py``) alone: here it would load the dialects of all databases into each process.
    sa.Index('ix_operations_claims', 'topic', 'host', 'owner'),
    sa.Index('ix_operations_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_operations_created_at', 'created_at'),
    by_change('operations'),
)
