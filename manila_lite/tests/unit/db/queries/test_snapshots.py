# SPDX-License-Identifier: Apache-2.0
"""A snapshot that is deleted during a request is not found."""

from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from manila_lite import errors
from manila_lite.cmd import setup
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_migrations
from manila_lite.db.queries import snapshots


class GoneTest(testtools.TestCase):
    def test_share_of_a_deleted_snapshot_is_not_found(self):
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        config = folder / 'c.conf'
        config.write_text(f'[database]\nconnection = sqlite:///{folder}/x.sqlite\n')
        conf = setup.configure([f'--config-file={config}'], transport_url='inproc://', conf=cfg.ConfigOpts())
        db = Database(conf)
        self.addCleanup(db.dispose)
        schema_migrations.upgrade(db)
        with db.reader() as conn:
            gone = self.assertRaises(errors.NotFound, snapshots.share_of, conn, 'gone')
            self.assertIsNone(snapshots.with_share(conn, 'gone'))
        self.assertIn('gone', str(gone))
