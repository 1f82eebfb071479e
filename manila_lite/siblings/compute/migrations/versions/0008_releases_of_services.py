# SPDX-License-Identifier: Apache-2.0
"""The release that each service runs, and the heartbeat that told it."""

from manila_lite.siblings.db import schema

revision = '0008'
down_revision = '0007'


def upgrade() -> None:
    schema.add_releases()
