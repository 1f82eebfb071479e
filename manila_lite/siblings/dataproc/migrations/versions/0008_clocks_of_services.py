# SPDX-License-Identifier: Apache-2.0
"""The difference between the clock of each service's host and that of the database."""

from manila_lite.siblings.db import schema

revision = '0008'
down_revision = '0007'


def upgrade() -> None:
    schema.add_clocks()
