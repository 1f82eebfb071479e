# SPDX-License-Identifier: Apache-2.0
"""The revisions of each sibling make the tables of its models, and leave the house's as they are there."""

import fixtures
import testscenarios
import testtools
from alembic import autogenerate, migration
from oslo_config import cfg

from manila_lite.db import migrate
from manila_lite.siblings import schema
from manila_lite.siblings.compute import cmd as compute
from manila_lite.siblings.compute import models as compute_models
from manila_lite.siblings.dataproc import cmd as dataproc
from manila_lite.siblings.dataproc import models as dataproc_models
from manila_lite.tests.services import places


class SchemaTest(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [('compute', {'sibling': compute.COMPUTE, 'models': compute_models}),
                 ('dataproc', {'sibling': dataproc.SIBLING, 'models': dataproc_models})]

    def test_revisions_make_the_models(self):
        state = self.useFixture(fixtures.TempDir())
        url = self.useFixture(places.EmptyDatabase(state.path)).url
        path = state.join('sibling.conf')
        with open(path, 'w') as file:
            file.write(f'[DEFAULT]\nstate_path = {state.path}\n[database]\nconnection = {url}\n')
        services = self.sibling.services(self.sibling.configure([f'--config-file={path}'], conf=cfg.ConfigOpts()))
        self.addCleanup(services.db.dispose)
        migrate.upgrade(services.db)
        self.assertEqual(migrate.head(services.db), migrate.current(services.db))
        with services.db.engine.connect() as conn:
            differ = autogenerate.compare_metadata(migration.MigrationContext.configure(
                conn, opts={'compare_type': True}), self.models.metadata)
        self.assertEqual([], differ)
        self.assertLessEqual(set(schema.metadata().tables), set(self.models.metadata.tables))
