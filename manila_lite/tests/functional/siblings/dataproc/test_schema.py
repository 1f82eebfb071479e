# SPDX-License-Identifier: Apache-2.0
"""The migrations of the data-processing service's database make the schema that its code expects."""

from alembic import autogenerate, migration

from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_migrations
from manila_lite.siblings.dataproc import cmd
from manila_lite.siblings.dataproc.db import models
from manila_lite.tests.functional.database.test_migrations import MigrationTest as _MigrationTest


class SchemaTest(_MigrationTest):
    """An empty database of the kind that the tests run on."""

    def test_models_and_migrations_agree(self):
        db = Database(self.db._conf, cmd.SIBLING.migrations)
        self.addCleanup(db.dispose)
        schema_migrations.upgrade(db)
        with db.engine.connect() as conn:
            context = migration.MigrationContext.configure(conn, opts={'compare_type': True})
            self.assertEqual([], autogenerate.compare_metadata(context, models.metadata))
