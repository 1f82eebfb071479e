# SPDX-License-Identifier: Apache-2.0
"""Work takes turns between projects: whose turn each operation takes, and indexes by which that and claims are found."""

from manila_lite.db import turning

revision = '0004'
down_revision = '0003'


def upgrade() -> None:
    turning.upgrade()
