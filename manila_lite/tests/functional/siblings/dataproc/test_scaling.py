# SPDX-License-Identifier: Apache-2.0
"""Scaling that fails: what it added goes again, and a cluster can be scaled back from every status."""

from manila_lite.tests.functional.siblings.dataproc.base import DataprocTest, group


class ScalingTest(DataprocTest):
    """Nodes that are too few, or refuse a share."""

    def nodes(self, cluster):
        """Return the number of nodes wanted and there, by node group."""
        return {one['name']: (one['count'], len(one['instances'])) for one in cluster['node_groups']}

    def scale(self, cluster, count, **more):
        """Ask for so many workers."""
        return self.me.ok(
            'PUT',
            f'/clusters/{cluster["id"]}',
            {'resize_node_groups': [{'name': 'workers', 'count': count}], **more},
        )['cluster']

    def node(self, number, what):
        """Write a file that makes the fake infrastructure's node fail. Return its path."""
        place = self.dataproc.nodes / f'fake-{number}' / what
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text('mount.nfs: no way')
        return place

    def test_scaling_without_free_nodes_is_undone(self):
        share, extra = self.shared(), self.shared()
        made = self.make(shares=[{'id': share}])
        self.dataproc.conf.set_override('fake_nodes', 3, 'dataproc')
        self.scale(made, 3, add_node_groups=[group('more', 2, shares=[{'id': extra, 'path': '/extra'}])])
        cluster = self.me.wait(made['id'], 'Active')
        self.assertEqual({'workers': (2, 2)}, self.nodes(cluster))
        self.assertIn('The scaling was undone: one-', cluster['fault'])
        self.assertIn('There is no free node.', cluster['fault'])
        self.assertEqual(cluster['fault'], cluster['status_description'])
        self.assertEqual((2, 0), (len(self.rules(share)), len(self.rules(extra))))
        self.assertEqual([0, 1, 1], sorted(map(len, self.dataproc.mounted().values())))
        self.scale(made, 3)
        cluster = self.me.wait(made['id'], 'Active')
        self.assertEqual(({'workers': (3, 3)}, None), (self.nodes(cluster), cluster['fault']))

    def test_scaling_is_undone_if_a_new_node_cannot_mount(self):
        share = self.shared()
        made = self.make(group(count=1), shares=[{'id': share}])
        self.node(2, f'refuse/{share}')
        self.scale(made, 3)
        cluster = self.me.wait(made['id'], 'Active')
        self.assertEqual({'workers': (1, 1)}, self.nodes(cluster))
        self.assertIn('mount.nfs: no way', cluster['fault'])
        self.assertEqual(1, len(self.rules(share)))

    def test_note_of_an_undone_scaling_survives_checks(self):
        made = self.make(group(count=1), shares=[{'id': self.shared()}])
        self.dataproc.conf.set_override('fake_nodes', 1, 'dataproc')
        self.scale(made, 2)
        undone = self.me.wait(made['id'], 'Active')['fault']
        self.dataproc.engine.check()
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'description': 'x'})
        self.assertEqual(undone, self.me.wait(made['id'], 'Active')['fault'])
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': []})
        self.assertIsNone(self.me.wait(made['id'], 'Active')['fault'])

    def test_cluster_in_error_is_scaled_back_by_its_failed_nodes(self):
        share = self.shared()
        self.node(2, f'refuse/{share}')
        self.dataproc.conf.set_override('fake_nodes', 2, 'dataproc')
        made = self.make(group(count=3), shares=[{'id': share}], wait=('Error',))
        self.scale(made, 2)
        cluster = self.me.wait(made['id'], 'Error')
        self.assertEqual({'workers': (2, 2)}, self.nodes(cluster))
        self.scale(made, 1)
        cluster = self.me.wait(made['id'], 'Active')
        self.assertEqual({'workers': (1, 1)}, self.nodes(cluster))
        self.assertEqual(1, len(self.rules(share)))

    def test_cluster_is_scaled_back_while_its_nodes_do_not_answer(self):
        self.node(2, 'late')
        made = self.make(group(count=2), wait=('Waiting',))
        self.assertEqual(
            (409, 'CONFLICT'),
            self.me.refused(
                'PUT', f'/clusters/{made["id"]}', {'resize_node_groups': [{'name': 'workers', 'count': 3}]}
            )[:2],
        )
        self.scale(made, 1)
        self.assertEqual({'workers': (1, 1)}, self.nodes(self.me.wait(made['id'], 'Active')))

    def test_scaling_under_way_is_taken_back(self):
        made = self.make(group(count=1))
        self.node(3, 'late')
        self.scale(made, 4)
        self.me.wait(made['id'], 'Waiting')
        self.scale(made, 2)
        self.assertEqual({'workers': (2, 2)}, self.nodes(self.me.wait(made['id'], 'Active')))
        self.assertEqual((204, None), self.me.call('DELETE', f'/clusters/{made["id"]}'))
        self.me.wait(made['id'], 'gone')
