# SPDX-License-Identifier: Apache-2.0
"""QoS types and their specs. Share types name them by the extra spec ``default_qos_type``."""

import sqlalchemy as sa

from manila_lite.db.models.base import Name, metadata, pairs, primary_key, times

qos_types = sa.Table(
    'qos_types',
    metadata,
    primary_key(),
    *times(),
    sa.Column('name', Name, nullable=False, unique=True),
    sa.Column('description', Name),
)

qos_type_specs = pairs('qos_type_specs', 'qos_types')
