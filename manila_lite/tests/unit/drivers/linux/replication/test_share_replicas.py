# SPDX-License-Identifier: Apache-2.0
from manila_lite import errors, values
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.tests.unit.drivers.linux.replication import base


class ShareReplicasTest(base.ReplicationTest):
    def replica(self, kind='readable', host='there@linux', **changes):
        return values.Replica(base.share('new', **changes), kind, '', base.share('old'), host)

    def test_impossible_replicas_are_refused_with_a_reason(self):
        for replica, why in (
            (self.replica('writable'), 'readable or dr'),
            (self.replica(host=base.HOST), 'another backend'),
            (self.replica(proto='CIFS'), 'not serve CIFS'),
            (self.replica(pool='other'), 'no pool'),
        ):
            self.assertIn(why, str(self.assertRaises(errors.Final, self.replicas.create, replica)))
        self.assertRaisesRegex(errors.Final, 'not in the pool', self.replicas.promote, self.replica())
        self.use(Directory(self.root))
        self.assertRaisesRegex(errors.Final, 'plain directory', self.replicas.create, self.replica())
