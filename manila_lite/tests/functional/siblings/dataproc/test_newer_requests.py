# SPDX-License-Identifier: Apache-2.0
"""Requests that come while the operation of a cluster waits: each is carried out, and none is taken for done."""

from manila_lite.tests.functional.siblings.dataproc.base import DataprocTest, base, group


class NewerRequestsTest(DataprocTest):
    """An engine whose nodes do not answer until a test lets them."""

    def setUp(self):
        super().setUp()
        self.dataproc.conf.set_override('attempts', 10000, 'dataproc')
        self.addCleanup(self.dataproc.conf.clear_override, 'attempts', 'dataproc')

    def node(self, number, what):
        """Write a file that makes the fake infrastructure's node fail. Return its path."""
        place = self.dataproc.nodes / f'fake-{number}' / what
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
        return place

    def test_cluster_is_deleted_while_its_nodes_do_not_answer(self):
        share = self.shared()
        self.node(1, 'late')
        made = self.make(group(count=2), shares=[{'id': share}], wait=('Waiting',))
        self.assertEqual((204, None), self.me.call('DELETE', f'/clusters/{made["id"]}'))
        self.me.wait(made['id'], 'gone')
        self.assertEqual({}, self.rules(share))
        self.assertFalse(any(self.dataproc.mounted().values()))

    def test_cluster_is_deleted_while_it_mounts(self):
        share = self.shared()
        self.node(1, f'dead/{share}')
        made = self.make(group(count=2), shares=[{'id': share}], wait=('Starting',))
        self.assertEqual((204, None), self.me.call('DELETE', f'/clusters/{made["id"]}'))
        self.me.wait(made['id'], 'gone')
        self.assertEqual({}, self.rules(share))
        self.assertFalse(any(self.dataproc.mounted().values()))

    def test_shares_are_changed_during_a_look_at_a_node_that_hangs(self):
        old, new = self.shared(), self.shared()
        made = self.make(group(count=1), shares=[{'id': old, 'path': '/data'}])
        away = self.node(1, 'away')
        self.dataproc.engine.check()
        self._until_it_mounts(made['id'])
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': [{'id': new, 'path': '/data'}]})
        away.unlink()
        self.me.wait(made['id'], 'Active')
        self.assertEqual({new: ('/data', 'rw')}, self.dataproc.mounted('fake-1'))
        self.assertEqual(({}, 1), (self.rules(old), len(self.rules(new))))

    def _until_it_mounts(self, cluster_id):
        def states():
            cluster = self.me.ok('GET', f'/clusters/{cluster_id}')['cluster']
            return {
                one['state']
                for group in cluster['node_groups']
                for node in group['instances']
                for one in node['shares']
            }

        base.eventually(lambda: states() == {'mounting'}, 'the look has not begun')
