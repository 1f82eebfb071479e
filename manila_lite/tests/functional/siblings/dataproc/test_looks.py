# SPDX-License-Identifier: Apache-2.0
"""The periodic look: it finds access rules that are gone and mounts that do not answer, and heals what can be healed."""

from manila_lite.tests.functional.siblings.dataproc.base import DataprocTest, base, group


class LooksTest(DataprocTest):
    """Clusters that lose something after they became active."""

    def node(self, number, what):
        """Write a file that makes the fake infrastructure's node fail. Return its path."""
        place = self.dataproc.nodes / f'fake-{number}' / what
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
        return place

    def look(self):
        """Have the engine look at all clusters. Return when nothing is under way."""
        self.dataproc.engine.check()

    def until(self, ready, what):
        """Look again and again until something is so."""

        def done():
            self.look()
            return ready()

        base.eventually(done, what)

    def cluster(self, made):
        """Return the cluster as it is now."""
        return self.me.ok('GET', f'/clusters/{made["id"]}')['cluster']

    def test_lost_access_rule_is_made_again(self):
        share = self.shared()
        made = self.make(shares=[{'id': share, 'access_level': 'ro'}])
        wanted, lost = self.rules(share), self.shares.rules(share)[0]
        self.shares.deny(share, lost.id)
        base.eventually(
            lambda: lost.id not in {rule.id for rule in self.shares.rules(share)}, 'the rule stays'
        )
        self.until(lambda: self.rules(share) == wanted, 'the rule is not made again')
        self.me.wait(made['id'], 'Active')
        self.assertEqual([1, 1], list(map(len, self.dataproc.mounted().values())))

    def test_rule_that_became_weaker_is_made_stronger(self):
        share = self.shared()
        self.make(group(count=1), shares=[{'id': share}])
        self.assertTrue(self.shares.change_level(self.shares.rules(share)[0].id, 'ro'))
        self.until(lambda: list(self.rules(share).values()) == ['rw'], 'the rule stays weak')

    def test_mount_that_does_not_answer_is_reported_and_healed(self):
        share = self.shared()
        made = self.make(shares=[{'id': share}])
        dead = self.node(2, f'dead/{share}')
        self.until(lambda: self.cluster(made)['status'] == 'Error', 'the dead mount is not noticed')
        self.assertIn(f'The server of /mnt/{share} does not answer.', self.cluster(made)['fault'])
        dead.unlink()
        self.until(lambda: self.cluster(made)['status'] == 'Active', 'the mount is not healed')
        self.assertIsNone(self.cluster(made)['fault'])

    def test_busy_unmount_does_not_stop_the_healing_of_the_others(self):
        busy, share = self.shared(), self.shared()
        made = self.make(shares=[{'id': busy}, {'id': share}])
        used = self.node(1, f'busy/{busy}')
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': [{'id': share}]})
        self.me.wait(made['id'], 'Error')
        for place in self.dataproc.nodes.glob(f'*/mounts/{share}'):
            place.unlink()
        self.until(
            lambda: all(share in self.dataproc.mounted(f'fake-{number}') for number in (1, 2)),
            'nothing is mounted again',
        )
        self.assertIn(f'/mnt/{busy} is in use.', self.cluster(made)['fault'])
        self.assertEqual(1, len(self.rules(busy)))
        used.unlink()
        self.until(lambda: self.cluster(made)['status'] == 'Active', 'it is not unmounted when it is free')
        self.assertEqual(({}, 2), (self.rules(busy), len(self.rules(share))))

    def test_fault_is_shown_while_the_operation_waits(self):
        self.dataproc.conf.set_override('attempts', 10000, 'dataproc')
        self.addCleanup(self.dataproc.conf.clear_override, 'attempts', 'dataproc')
        late = self.node(1, 'late')
        made = self.make(group(count=1), shares=[{'id': self.shared()}], wait=('Waiting',))
        base.eventually(
            lambda: self.cluster(made)['fault'] == 'one-workers-001: fake-1 is not ready.', 'no fault'
        )
        away = self.node(1, 'away')
        late.unlink()
        base.eventually(
            lambda: 'does not answer.' in (self.cluster(made)['fault'] or ''), 'no fault of the mount'
        )
        away.unlink()
        self.assertIsNone(self.me.wait(made['id'], 'Active')['fault'])

    def test_node_that_was_away_at_its_release_is_clean_for_the_next_cluster(self):
        old, new = self.shared(), self.shared()
        made = self.make(group(count=1), shares=[{'id': old}])
        away = self.node(1, 'away')
        self.me.ok('DELETE', f'/clusters/{made["id"]}')
        self.me.wait(made['id'], 'gone')
        self.assertIn(old, self.dataproc.mounted('fake-1'))
        away.unlink()
        self.make(group(count=1), name='two', shares=[{'id': new}])
        self.assertEqual([new], list(self.dataproc.mounted('fake-1')))

    def test_locks_name_the_cluster_that_holds_the_share_now(self):
        share = self.shared()
        for name in ('one', 'two'):
            made = self.make(group(count=1), name=name, shares=[{'id': share}])
            reasons = {
                lock.reason
                for rule in self.shares.rules(share)
                for lock in self.shares.locks(resource_id=rule.id)
            }
            self.assertEqual({f'mlite-dataproc cluster {made["id"]} on test'}, reasons)
            self.me.ok('DELETE', f'/clusters/{made["id"]}')
            self.me.wait(made['id'], 'gone')
