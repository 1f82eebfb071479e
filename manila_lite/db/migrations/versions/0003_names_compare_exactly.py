# SPDX-License-Identifier: Apache-2.0
"""Names compare exactly on MariaDB too."""

from manila_lite.db.core import collation

revision = '0003'
down_revision = '0002'

#: Table, column, the table that it points to, and the action when that row is deleted. As of this revision.
_FOREIGN_KEYS = (
    ('access_rule_metadata', 'owner_id', 'access_rules', 'CASCADE'),
    ('access_rules', 'share_id', 'shares', 'CASCADE'),
    ('export_location_metadata', 'owner_id', 'export_locations', 'CASCADE'),
    ('export_locations', 'share_instance_id', 'share_instances', 'CASCADE'),
    ('services', 'availability_zone_id', 'availability_zones', None),
    ('share_instances', 'availability_zone_id', 'availability_zones', None),
    ('share_instances', 'share_id', 'shares', 'CASCADE'),
    ('share_instances', 'share_type_id', 'share_types', None),
    ('share_metadata', 'owner_id', 'shares', 'CASCADE'),
    ('share_type_extra_specs', 'owner_id', 'share_types', 'CASCADE'),
    ('share_type_projects', 'share_type_id', 'share_types', 'CASCADE'),
    ('snapshot_metadata', 'owner_id', 'snapshots', 'CASCADE'),
    ('snapshots', 'share_id', 'shares', None),
)


def upgrade() -> None:
    collation.exact(_FOREIGN_KEYS)
