# SPDX-License-Identifier: Apache-2.0
"""The upgrade of the schema by a service that starts. alembic is imported only if there is something to do."""

from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_revisions


def upgrade_if_older(db: Database) -> None:
    """Bring the schema to the newest revision, if it is older.

    :raises errors.Unavailable: another process that changes it takes too long.
    """
    if schema_revisions.is_older(db):
        from manila_lite.db.maintenance import schema_migrations  # needs alembic

        schema_migrations.upgrade(db)
