# SPDX-License-Identifier: Apache-2.0
from manila_lite import errors, values
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.tests.unit.drivers.linux.replication import base


class ServerMigrationsTest(base.ReplicationTest):
    def test_impossible_migrations_are_refused_with_a_reason(self):
        source, target = values.ShareServer('old'), values.ShareServer('new')
        for host, shares, why in (
            ('there@linux', (base.share(proto='CIFS'),), 'serve CIFS'),
            ('there@linux', (base.share('../a'),), 'not an id'),
            ('there@linux', (base.share(),), 'no entry for there@linux'),
        ):
            migration = values.ServerMigration(source, host, target, 'pool', shares)
            self.assertIn(why, self.objection(self.server_migrations, migration))
        self.assertRaises(errors.Final, self.server_migrations.start, migration)
        self.use(Directory(self.root))
        self.assertIn('plain directory', self.objection(self.server_migrations, migration))
