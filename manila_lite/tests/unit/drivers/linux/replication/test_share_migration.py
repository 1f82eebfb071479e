# SPDX-License-Identifier: Apache-2.0
from manila_lite import values
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.tests.unit.drivers.linux.replication import base


class ShareMigrationsTest(base.ReplicationTest):
    def test_impossible_migrations_are_refused_with_a_reason(self):
        for migration, why in (
            (
                values.ShareMigration(base.share('old'), base.HOST, base.share('new')),
                'on this backend already',
            ),
            (
                values.ShareMigration(base.share('old'), 'there@linux', base.share('new', 'CIFS')),
                'no pool pool for CIFS',
            ),
            (values.ShareMigration(base.share('../old'), 'there@linux', base.share('new')), 'not an id'),
            (
                values.ShareMigration(base.share('old'), 'there@linux', base.share('new')),
                'no entry for there@linux',
            ),
        ):
            self.assertIn(why, self.objection(self.share_migrations, migration))
        self.use(Directory(self.root))
        self.assertIn('plain directory', self.objection(self.share_migrations, migration))
