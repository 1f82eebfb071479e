# SPDX-License-Identifier: Apache-2.0
"""A share with a replica at another linux backend, through the API: clients read the replica, then it is promoted."""

import sys
import time

from manila_lite.tests import nfs_client, process
from manila_lite.tests.functional.linux import test_share_migration
from manila_lite.tests.process import free_ports
from manila_lite.tests.watching import Scraped

#: Seconds for which the metrics are kept.
_KEPT = 1


class Replicates(test_share_migration.Moves):
    """The backends of the migration tests in one replication domain. A directory cannot replicate."""

    BACKEND = test_share_migration.Moves.BACKEND + 'linux_replication_domain = here\n'
    # These tests are about migrations.
    test_a_share_moves_with_its_data_and_rules = (
        test_cancelled_migration_leaves_nothing_at_the_destination
    ) = None

    def at(self, path):
        """Return the replica or the share at a path of the API."""
        return self.lite.ok('GET', path)[path.split('/')[1].replace('-', '_')[:-1]]

    def read_of(self, replica, *words):
        """Run an NFS command on a replica as a client; return (success, output)."""
        found = self.lite.ok('GET', f'/share-replicas/{replica}/export-locations')['export_locations'][0][
            'path'
        ]
        address, _, path = found.partition(':')
        return nfs_client.call(address, path, *words, netns=self.fabric.name('one'))

    def make_safe(self):
        """Make a share on ``alpha`` that may have replicas, with access for the client; return its id."""
        self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'safe',
                    'extra_specs': {
                        'driver_handles_share_servers': 'False',
                        'snapshot_support': 'True',
                        'replication_type': 'readable',
                    },
                }
            },
        )
        share = self.make('alpha', share_type='safe')
        self.act(share, 'allow_access', {'access_type': 'ip', 'access_to': self.fabric.v4('one')})
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        return share

    def in_sync(self, replica):
        self.lite.wait(f'/share-replicas/{replica}', 'share_replica', 'in_sync', field='replica_state')

    def resync(self, replica):
        self.lite.ok('POST', f'/share-replicas/{replica}/action', {'resync': None})

    def test_replica_is_readable_and_has_all_data_when_promoted(self):
        share = self.make_safe()
        self.works(share, 'write', 'f', 'before')
        snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        replica = self.lite.ok('POST', '/share-replicas', {'share_replica': {'share_id': share}})[
            'share_replica'
        ]['id']
        self.in_sync(replica)
        [old] = [
            row['id']
            for row in self.lite.ok('GET', f'/share-replicas?share_id={share}')['share_replicas']
            if row['replica_state'] == 'active'
        ]
        self.assertEqual('test@beta#pool', self.at(f'/share-replicas/{replica}')['host'])
        self.assertEqual((True, 'before'), self.read_of(replica, 'read', 'f'))
        self.assertFalse(self.read_of(replica, 'write', 'f', 'not here')[0])
        self.works(share, 'write', 'f', 'hello')
        self.resync(replica)
        process.until(
            lambda: self.read_of(replica, 'read', 'f') == (True, 'hello'), 'it follows', self.lite.tail
        )
        self.works(share, 'write', 'f', 'the last word')
        self.lite.ok('POST', f'/share-replicas/{replica}/action', {'promote': None})
        self.lite.wait(f'/share-replicas/{replica}', 'share_replica', 'active', field='replica_state')
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        self.assertEqual('test@beta#pool', self.at(f'/shares/{share}')['host'])
        self.assertEqual('the last word', self.works(share, 'read', 'f'))
        self.works(share, 'write', 'f', 'at the new place')
        self.assertEqual(
            'before', (self.state / 'lib' / 'beta' / 'pool' / 'snapshots' / snapshot / 'f').read_text()
        )
        self.in_sync(old)
        self.resync(old)
        process.until(
            lambda: self.read_of(old, 'read', 'f') == (True, 'at the new place'), 'it follows', self.lite.tail
        )
        self.lite.ok('DELETE', f'/share-replicas/{old}')
        process.until(lambda: not self.held('alpha'), 'nothing is left there', self.lite.tail)
        self.assertEqual('at the new place', self.works(share, 'read', 'f'))


class Lost(Replicates):
    """The replica follows by itself, and then its share is lost."""

    test_replica_is_readable_and_has_all_data_when_promoted = None

    def setUp(self):
        self.port = free_ports(4)
        self.BACKEND = (
            f'{Replicates.BACKEND}replica_state_update_interval = 2\n'
            f'[metrics]\nport = {self.port}\nports = 4\ncache_seconds = {_KEPT}\n'
        )
        super().setUp()

    def age(self):
        """Return the age of the data of the oldest replica in seconds, as the metrics have it."""
        return Scraped(self.port).value('replica_age_seconds', pool='test@beta#pool')

    def test_replica_whose_share_is_lost_lacks_at_most_what_is_younger_than_its_age(self):
        share = self.make_safe()
        replica = self.lite.ok('POST', '/share-replicas', {'share_replica': {'share_id': share}})[
            'share_replica'
        ]['id']
        self.in_sync(replica)
        written = {}
        for number in range(20):
            if number == 15:
                (
                    self.state / 'lite.conf'
                ).unlink()  # beta reaches alpha no more; a copy that has begun may still end
            self.works(share, 'put', f'f{number}', 'x')
            written[f'f{number}'] = time.time()  # it is on the disk of the active replica by now
        self.resync(replica)
        self.lite.wait(f'/share-replicas/{replica}', 'share_replica', 'out_of_sync', field='replica_state')
        process.until(
            lambda: Scraped(self.port).value('database_readable') == 1, 'there are no metrics', self.lite.tail
        )
        time.sleep(_KEPT)  # sleeps: until the metrics are of now
        since = time.time() - self.age()
        self.lite.ok('POST', f'/share-replicas/{replica}/action', {'promote': None})
        self.lite.wait(f'/share-replicas/{replica}', 'share_replica', 'active', field='replica_state')
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        there = set(self.works(share, 'list').split())
        lost = sorted(name for name in written if name not in there)
        print(
            f'{len(lost)} of {len(written)} files are lost; the data were of {written["f19"] - since:.1f} s before the last',
            file=sys.stderr,
        )
        self.assertEqual([], [name for name in lost if written[name] < since])
        self.assertIn('f19', lost)
