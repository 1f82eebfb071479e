# SPDX-License-Identifier: Apache-2.0
"""Schedules, which make snapshots or backups at their times, and their copies."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Json, Name, Time, flag, metadata, primary_key, ref, times

schedules = sa.Table(
    'schedules',
    metadata,
    primary_key(),
    *times(),
    sa.Column('project_id', Name, nullable=False),
    sa.Column('user_id', Name),
    sa.Column('name', Name),
    # Of an administrator: it is about the shares of all projects.
    flag('all_projects'),
    sa.Column('action', sa.String(32), nullable=False),
    sa.Column('backup_type', Name),
    sa.Column('cron', Name, nullable=False),
    sa.Column('time_zone', Name, nullable=False),
    # Seconds.
    sa.Column('jitter', sa.Integer, nullable=False),
    sa.Column('missed', sa.String(8), nullable=False),
    # The shares that fit all of these that are not null. No foreign keys: those that are gone fit nothing.
    sa.Column('share_ids', Json),
    sa.Column('share_metadata', Json),
    sa.Column('share_type_id', Id),
    # By the names of values/retention.py.
    sa.Column('keep', Json, nullable=False),
    sa.Column('name_prefix', Name),
    flag('paused'),
    # Null while it is paused.
    sa.Column('next_run_at', Time, index=True),
    # The time of the run that ended last, and of the last one of which everything is good.
    sa.Column('last_run_at', Time),
    sa.Column('last_good_at', Time),
    # Since when, and why, runs have not been good.
    sa.Column('failing_since', Time),
    sa.Column('problem_code', sa.String(64)),
    sa.Column('problem', sa.Text),
    sa.Index('ix_schedules_project_id_created_at', 'project_id', 'created_at'),
    sa.Index('ix_schedules_created_at', 'created_at'),
)

# The mark of what a schedule made: retention deletes nothing else.
schedule_copies = sa.Table(
    'schedule_copies',
    metadata,
    # The snapshot, backup or group snapshot. No foreign key: it may be in one of several tables.
    primary_key('resource_id'),
    ref('schedule_id', 'schedules.id', cascade=True, index=False),
    sa.Column('resource_type', sa.String(32), nullable=False),
    # The share, or the share group.
    sa.Column('source_id', Id, nullable=False),
    # The time of the run, which makes one copy of each source.
    sa.Column('run_at', Time, nullable=False),
    # It was good once: then it is no failure, whatever its status is.
    flag('was_good'),
    sa.UniqueConstraint('schedule_id', 'run_at', 'source_id'),
)
