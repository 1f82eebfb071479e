# SPDX-License-Identifier: Apache-2.0
"""Names compare exactly on MariaDB too."""

from manila_lite.db.core import collation

revision = '0002'
down_revision = '0001'

_FOREIGN_KEYS = (
    ('services', 'availability_zone_id', 'availability_zones', None),
    ('share_attachments', 'server_id', 'servers', None),
)


def upgrade() -> None:
    collation.exact(_FOREIGN_KEYS)
