# SPDX-License-Identifier: Apache-2.0
"""Indexes for pages of operations, of a project and of all, as in the database of the share service."""

from manila_lite.siblings.db import schema

revision = '0010'
down_revision = '0009'


def upgrade() -> None:
    schema.index_pages_of_operations()
