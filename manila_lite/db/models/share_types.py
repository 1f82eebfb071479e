# SPDX-License-Identifier: Apache-2.0
"""Share types, their extra specs, and the projects that may use private ones."""

import sqlalchemy as sa

from manila_lite.db.models.base import Id, Name, flag, metadata, pairs, primary_key, times

share_types = sa.Table(
    'share_types',
    metadata,
    primary_key(),
    *times(),
    sa.Column('name', Name, nullable=False, unique=True),
    sa.Column('description', Name),
    flag('is_public', default=True),
)

share_type_extra_specs = pairs('share_type_extra_specs', 'share_types')

share_type_projects = sa.Table(
    'share_type_projects',
    metadata,
    sa.Column('share_type_id', Id, sa.ForeignKey('share_types.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('project_id', Name, primary_key=True),
)
