# SPDX-License-Identifier: Apache-2.0
"""Names compare exactly on MariaDB too."""

from manila_lite.db.core import collation

revision = '0002'
down_revision = '0001'

_FOREIGN_KEYS = (
    ('clusters', 'cluster_template_id', 'cluster_templates', None),
    ('instances', 'cluster_id', 'clusters', None),
    ('instances', 'node_group_id', 'node_groups', None),
    ('node_groups', 'cluster_id', 'clusters', 'CASCADE'),
    ('node_groups', 'cluster_template_id', 'cluster_templates', 'CASCADE'),
    ('services', 'availability_zone_id', 'availability_zones', None),
    ('share_mounts', 'instance_id', 'instances', None),
)


def upgrade() -> None:
    collation.exact(_FOREIGN_KEYS)
