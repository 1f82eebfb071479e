# SPDX-License-Identifier: Apache-2.0
"""The migrations of each sibling make the tables of its models, and the shared tables as the share service has them."""

import fixtures
import sqlalchemy as sa
import testscenarios
import testtools
from alembic import autogenerate, migration
from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite.db import models
from manila_lite.db.maintenance import schema_migrations, schema_revisions
from manila_lite.siblings.compute import cmd as compute
from manila_lite.siblings.compute.db import models as compute_models
from manila_lite.siblings.dataproc import cmd as dataproc
from manila_lite.siblings.dataproc.db import models as dataproc_models
from manila_lite.siblings.db import schema
from manila_lite.tests.schemas import newest_schema
from manila_lite.tests.services import places

_ZONES = models.availability_zones


class SchemaTest(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [
        ('compute', {'sibling': compute.COMPUTE, 'models': compute_models}),
        ('dataproc', {'sibling': dataproc.SIBLING, 'models': dataproc_models}),
    ]

    def setUp(self):
        super().setUp()
        state = self.useFixture(fixtures.TempDir())
        url = self.useFixture(places.EmptyDatabase(state.path)).url
        path = state.join('sibling.conf')
        with open(path, 'w') as file:
            file.write(f'[DEFAULT]\nstate_path = {state.path}\n[database]\nconnection = {url}\n')
        services = self.sibling.services(
            self.sibling.configure([f'--config-file={path}'], conf=cfg.ConfigOpts())
        )
        self.db = services.db
        self.addCleanup(self.db.dispose)

    def test_revisions_make_the_models(self):
        schema_migrations.upgrade(self.db)
        self.assertEqual(schema_revisions.head(self.db), schema_revisions.current(self.db))
        with self.db.engine.connect() as conn:
            differ = autogenerate.compare_metadata(
                migration.MigrationContext.configure(conn, opts={'compare_type': True}), self.models.metadata
            )
        self.assertEqual([], differ)
        self.assertLessEqual(set(schema.metadata().tables), set(self.models.metadata.tables))

    def test_names_compare_exactly(self):
        schema_migrations.upgrade(self.db, '0001')
        self.add('first')
        schema_migrations.upgrade(self.db)
        self.compares_exactly()

    def test_names_compare_exactly_in_a_schema_that_is_made_at_once(self):
        newest_schema(self.db, self.models.metadata)
        self.add('first')
        self.compares_exactly()

    def add(self, *names):
        with self.db.writer() as conn:
            for name in names:
                conn.execute(_ZONES.insert().values(id=uuidutils.generate_uuid(), name=name))

    def compares_exactly(self):
        """Check that similar names are different, and all columns compare exactly."""
        names = ['a', 'A', 'a ', '\u00e4', 'a\u0308']
        self.add(*names)
        with self.db.reader() as conn:
            for name in (*names, 'first'):
                self.assertEqual(
                    [name],
                    list(conn.execute(sa.select(_ZONES.c.name).where(_ZONES.c.name == name)).scalars()),
                )
            if self.db.engine.dialect.name in ('mysql', 'mariadb'):
                collations = conn.exec_driver_sql(
                    'SELECT DISTINCT collation_name FROM information_schema.columns '
                    'WHERE table_schema = DATABASE() AND collation_name IS NOT NULL'
                )
                self.assertEqual(['utf8mb4_nopad_bin'], list(collations.scalars()))
