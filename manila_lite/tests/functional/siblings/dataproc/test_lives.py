# SPDX-License-Identifier: Apache-2.0
"""Life cycle of clusters: mounts on the nodes, access rules, and the view of the owner."""

from oslo_utils import uuidutils

from manila_lite.db.models import operations
from manila_lite.tests.functional.siblings.dataproc.base import DataprocTest, base, group
from manila_lite.tests.services import hearing


class LivesTest(DataprocTest):
    """Nodes without faults."""

    def test_shares_come_and_go_with_the_cluster(self):
        everywhere, some = self.shared(), self.shared()
        made = self.make(
            group(shares=[{'id': some, 'path': '/data/a b', 'access_level': 'ro'}]),
            group('masters', 1),
            shares=[{'id': everywhere, 'path': None}],
        )
        both = {everywhere: (f'/mnt/{everywhere}', 'rw'), some: ('/data/a b', 'ro')}
        mounted = self.dataproc.mounted()
        self.assertEqual(
            [both, both, {everywhere: both[everywhere]}], sorted(mounted.values(), key=len, reverse=True)
        )
        self.assertEqual(3, len(self.rules(everywhere)))
        self.assertEqual({'rw'}, set(self.rules(everywhere).values()))
        self.assertEqual(['ro', 'ro'], list(self.rules(some).values()))
        self.assertEqual({'nodes_total': 3, 'nodes_done': 3}, made['info']['shares'])
        names = sorted(node['instance_name'] for one in made['node_groups'] for node in one['instances'])
        self.assertEqual(['one-masters-001', 'one-workers-001', 'one-workers-002'], names)
        self.assertEqual((204, None), self.me.call('DELETE', f'/clusters/{made["id"]}'))
        self.me.wait(made['id'], 'gone')
        self.assertEqual([{}, {}, {}], list(self.dataproc.mounted().values()))
        self.assertEqual(({}, {}), (self.rules(everywhere), self.rules(some)))

    def test_the_progress_of_its_steps_can_be_asked_for(self):
        made = self.make(shares=[{'id': self.shared()}])
        steps = made['provision_progress']
        self.assertEqual(
            ['arrange', 'spawn', 'prepare', 'configure', 'begin'], [step['step_name'] for step in steps]
        )
        self.assertEqual({2}, {step['total'] for step in steps})
        self.assertTrue(all(step['successful'] for step in steps))
        self.assertEqual([], self.me.ok('GET', f'/clusters/{made["id"]}')['cluster']['provision_progress'])

    def test_shares_of_the_cluster_override_those_of_its_groups(self):
        share = self.shared()
        self.make(
            group(count=1, shares=[{'id': share, 'path': '/own', 'access_level': 'ro'}]),
            shares=[{'id': share, 'path': '/all'}],
        )
        self.assertEqual({'fake-1': {share: ('/all', 'rw')}}, self.dataproc.mounted())

    def test_other_shares_are_mounted_instead(self):
        old, new, stays = self.shared(), self.shared(), self.shared()
        made = self.make(shares=[{'id': old, 'path': '/one'}, {'id': stays}])
        path = f'/clusters/{made["id"]}'
        self.assertEqual(
            'Configuring',
            self.me.ok('PATCH', path, {'shares': [{'id': new, 'path': '/one'}, {'id': stays}]})['cluster'][
                'status'
            ],
        )
        self.me.wait(made['id'], 'Active')
        wanted = {new: ('/one', 'rw'), stays: (f'/mnt/{stays}', 'rw')}
        self.assertEqual({'fake-1': wanted, 'fake-2': wanted}, self.dataproc.mounted())
        self.assertEqual({}, self.rules(old))
        self.assertEqual(2, len(self.rules(new)))

    def test_changed_level_changes_the_rule(self):
        share = self.shared()
        made = self.make(group(count=1), shares=[{'id': share}])
        for level, path in (('ro', '/same'), ('rw', '/same'), ('ro', '/other')):
            self.me.ok(
                'PATCH',
                f'/clusters/{made["id"]}',
                {'shares': [{'id': share, 'path': path, 'access_level': level}]},
            )
            self.me.wait(made['id'], 'Active')
            self.assertEqual({share: (path, level)}, self.dataproc.mounted('fake-1'))
            self.assertEqual([level], list(self.rules(share).values()))

    def test_empty_list_unmounts_all_shares(self):
        share = self.shared()
        made = self.make(shares=[{'id': share}])
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': []})
        self.me.wait(made['id'], 'Active')
        self.assertEqual({'fake-1': {}, 'fake-2': {}}, self.dataproc.mounted())
        self.assertEqual({}, self.rules(share))

    def test_scaling_mounts_on_new_nodes_and_unmounts_on_leaving_ones(self):
        share, extra = self.shared(), self.shared()
        made = self.make(shares=[{'id': share}])
        path = f'/clusters/{made["id"]}'
        status, answer = self.me.call(
            'PUT',
            path,
            {
                'resize_node_groups': [{'name': 'workers', 'count': 3}],
                'add_node_groups': [group('more', 1, shares=[{'id': extra, 'path': '/extra'}])],
            },
        )
        self.assertEqual((202, 'InfraUpdating'), (status, answer['cluster']['status']))
        self.me.wait(made['id'], 'Active')
        self.assertEqual([1, 1, 1, 2], sorted(map(len, self.dataproc.mounted().values())))
        self.assertEqual((4, 1), (len(self.rules(share)), len(self.rules(extra))))
        self.me.ok(
            'PUT',
            path,
            {'resize_node_groups': [{'name': 'workers', 'count': 1}, {'name': 'more', 'count': 0}]},
        )
        cluster = self.me.wait(made['id'], 'Active')
        self.assertEqual(
            [('workers', 1)], [(one['name'], len(one['instances'])) for one in cluster['node_groups']]
        )
        self.assertEqual([0, 0, 0, 1], sorted(map(len, self.dataproc.mounted().values())))
        self.assertEqual((1, 0), (len(self.rules(share)), len(self.rules(extra))))

    def test_clusters_take_the_values_of_their_templates(self):
        of_node, of_cluster = self.shared(), self.shared()
        node = self.me.ok(
            'POST',
            '/node-group-templates',
            {
                'name': 'node',
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'flavor_id': 2,
                'node_processes': ['node'],
                'shares': [{'id': of_node, 'path': '/node'}],
            },
        )['node_group_template']
        whole = self.me.ok(
            'POST',
            '/cluster-templates',
            {
                'name': 'whole',
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'shares': [{'id': of_cluster, 'path': '/cluster'}],
                'node_groups': [{'name': 'n', 'count': 1, 'node_group_template_id': node['id']}],
            },
        )['cluster_template']
        self.assertEqual(
            ('2', [{'id': of_node, 'path': '/node', 'access_level': 'rw'}]),
            (whole['node_groups'][0]['flavor_id'], whole['node_groups'][0]['shares']),
        )
        values = {'plugin_name': 'plain', 'plugin_version': '1.0', 'cluster_template_id': whole['id']}
        made = self.me.ok('POST', '/clusters', {'name': 'first', **values})['cluster']
        self.me.wait(made['id'], 'Active')
        self.assertEqual(
            {of_node: ('/node', 'rw'), of_cluster: ('/cluster', 'rw')}, self.dataproc.mounted('fake-1')
        )
        # The shares of a cluster replace all shares of its template.
        other = self.me.ok(
            'POST', '/clusters', {'name': 'second', **values, 'shares': [{'id': of_node, 'path': '/mine'}]}
        )['cluster']
        self.me.wait(other['id'], 'Active')
        self.assertEqual({of_node: ('/mine', 'rw')}, self.dataproc.mounted('fake-2'))
        self.assertEqual(409, self.me.refused('DELETE', f'/cluster-templates/{whole["id"]}')[0])
        self.assertEqual(409, self.me.refused('DELETE', f'/node-group-templates/{node["id"]}')[0])

    def test_cluster_can_be_deleted_while_it_is_created(self):
        share = self.shared()
        made = self.make(group(count=5), shares=[{'id': share}], wait=None)
        self.me.ok('DELETE', f'/clusters/{made["id"]}')
        self.me.wait(made['id'], 'gone')
        self.assertEqual({}, self.rules(share))
        self.assertFalse(any(self.dataproc.mounted().values()))

    def test_two_clusters_are_on_different_nodes(self):
        share = self.shared()
        first, second = (self.make(name=name, shares=[{'id': share}], wait=None) for name in ('a', 'b'))
        for cluster in (first, second):
            self.me.wait(cluster['id'], 'Active')
        self.assertEqual(4, len(self.rules(share)))
        self.me.ok('DELETE', f'/clusters/{first["id"]}')
        self.me.wait(first['id'], 'gone')
        self.assertEqual(2, len(self.rules(share)))

    def test_changes_send_notifications(self):
        heard = self.useFixture(hearing.Heard(self.dataproc.conf, f'inproc:///{uuidutils.generate_uuid()}'))
        share = self.shared()
        made = self.make(group(count=1), shares=[{'id': share}])
        mounted = heard.wait('sahara.cluster.share_mount.end', cluster_id=made['id'])
        self.assertEqual(
            ('data-processing.test', share, f'/mnt/{share}', 'p'),
            (
                mounted['publisher'],
                mounted['payload']['share_id'],
                mounted['payload']['path'],
                mounted['payload']['project_id'],
            ),
        )
        heard.wait('sahara.cluster.update', cluster_status='Active')
        self.me.ok('DELETE', f'/clusters/{made["id"]}')
        heard.wait('sahara.cluster.share_unmount.end', cluster_id=made['id'])
        heard.wait('sahara.cluster.delete', cluster_name='one')
        self.dataproc.conf.set_override('fake_nodes', 1, 'dataproc')
        self.make(group(count=2), wait=('Error',))
        self.assertEqual('ERROR', heard.wait('sahara.cluster.error', cluster_status='Error')['priority'])

    def test_protected_cluster_is_not_deleted(self):
        made = self.make(group(count=1), is_protected=True)
        path = f'/clusters/{made["id"]}'
        self.assertEqual((409, 'CONFLICT'), self.me.refused('DELETE', path)[:2])
        self.assertEqual(202, self.me.call('PATCH', path, {'is_protected': False, 'name': 'other'})[0])
        self.me.ok('DELETE', path)
        self.me.wait(made['id'], 'gone')


class FaultsTest(DataprocTest):
    """Nodes and share services with faults."""

    def node(self, number, what, share=None, text=''):
        """Write a file that makes the fake infrastructure's node fail. Return its path."""
        place = self.dataproc.nodes / f'fake-{number}' / what
        place = place / share if share else place
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def faults(self, cluster):
        """Return (state, fault) of each mount, by node."""
        return {
            node['instance_id']: [(one['state'], one['fault']) for one in node['shares']]
            for group in cluster['node_groups']
            for node in group['instances']
        }

    def test_one_node_fails_and_the_others_do_not(self):
        share = self.shared()
        why = self.node(2, 'refuse', share, 'mount.nfs: no way')
        made = self.make(group(count=3), shares=[{'id': share}], wait=('Error',))
        self.assertEqual(
            {
                'fake-1': [('mounted', None)],
                'fake-2': [('error', 'mount.nfs: no way')],
                'fake-3': [('mounted', None)],
            },
            self.faults(made),
        )
        self.assertEqual(
            f'one-workers-002: share {share} at /mnt/{share}: mount.nfs: no way', made['status_description']
        )
        self.assertEqual({'nodes_total': 3, 'nodes_done': 2}, made['info']['shares'])
        why.unlink()
        before = {place: place.stat().st_mtime_ns for place in self.dataproc.nodes.glob('*/mounts/*')}
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': [{'id': share}]})
        cluster = self.me.wait(made['id'], 'Active')
        self.assertIsNone(cluster['status_description'])
        self.assertEqual(
            before, {place: place.stat().st_mtime_ns for place in before}
        )  # only the missing share was mounted
        self.assertEqual(3, len(self.rules(share)))

    def test_a_mount_that_is_used_stays_with_its_rule(self):
        share = self.shared()
        made = self.make(shares=[{'id': share}])
        busy = self.node(1, 'busy', share)
        path = f'/clusters/{made["id"]}'
        self.me.ok('PATCH', path, {'shares': []})
        cluster = self.me.wait(made['id'], 'Error')
        self.assertEqual(
            {'fake-1': [('error_unmounting', f'/mnt/{share} is in use.')], 'fake-2': []}, self.faults(cluster)
        )
        self.assertEqual(1, len(self.rules(share)))
        self.assertIn(share, self.dataproc.mounted('fake-1'))
        # A new share is mounted neither over a busy mount nor inside it.
        other = self.shared()
        self.me.ok('PATCH', path, {'shares': [{'id': other, 'path': f'/mnt/{share}/below'}]})
        cluster = self.me.wait(made['id'], 'Error')
        self.assertEqual(
            ['error', 'error_unmounting', 'mounted'],
            sorted(state for states_ in self.faults(cluster).values() for state, _ in states_),
        )
        busy.unlink()
        self.me.ok('PATCH', path, {'shares': []})
        self.me.wait(made['id'], 'Active')
        self.assertEqual(({}, {}), (self.rules(share), self.rules(other)))

    def test_deleted_cluster_unmounts_used_shares_by_force(self):
        share = self.shared()
        made = self.make(shares=[{'id': share}])
        self.node(1, 'busy', share)
        self.me.ok('DELETE', f'/clusters/{made["id"]}')
        self.me.wait(made['id'], 'gone')
        self.assertEqual({}, self.rules(share))

    def test_unreachable_node_is_reported_and_given_up_when_it_leaves(self):
        share, other = self.shared(), self.shared()
        made = self.make(shares=[{'id': share}])
        self.node(2, 'away')
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': [{'id': share}, {'id': other}]})
        cluster = self.me.wait(made['id'], 'Error')
        self.assertEqual([('error', 'one-workers-002 does not answer.')] * 2, self.faults(cluster)['fake-2'])
        self.assertEqual(['mounted', 'mounted'], [state for state, _ in self.faults(cluster)['fake-1']])
        self.me.ok('DELETE', f'/clusters/{made["id"]}')
        self.me.wait(made['id'], 'gone')
        self.assertEqual(({}, {}), (self.rules(share), self.rules(other)))

    def test_too_few_nodes_fail_the_cluster(self):
        share = self.shared()
        self.dataproc.conf.set_override('fake_nodes', 1, 'dataproc')
        made = self.make(group(count=2), shares=[{'id': share}], wait=('Error',))
        self.assertEqual('one-workers-002: There is no free node.', made['status_description'])
        self.assertEqual(
            [('fake-1', 'ready'), (None, 'error')],
            [(node['instance_id'], node['state']) for node in made['node_groups'][0]['instances']],
        )
        self.dataproc.conf.set_override('fake_nodes', 2, 'dataproc')
        self.me.ok('PATCH', f'/clusters/{made["id"]}', {'shares': [{'id': share}]})
        self.me.wait(made['id'], 'Active')

    def test_node_that_cannot_be_released_is_released_later(self):
        share = self.shared()
        made = self.make(shares=[{'id': share}])
        stays = self.node(2, 'stay')
        path = f'/clusters/{made["id"]}'
        self.me.ok('PUT', path, {'resize_node_groups': [{'name': 'workers', 'count': 1}]})
        cluster = self.me.wait(made['id'], 'Error')
        self.assertEqual('one-workers-002: fake-2 cannot be given back.', cluster['status_description'])
        self.assertEqual(1, len(self.rules(share)))
        stays.unlink()
        self.me.ok('PATCH', path, {'shares': [{'id': share}]})
        cluster = self.me.wait(made['id'], 'Active')
        self.assertEqual(['fake-1'], [node['instance_id'] for node in cluster['node_groups'][0]['instances']])

    def test_mounts_lost_in_a_reboot_are_restored_by_the_next_check(self):
        share = self.shared()
        made = self.make(shares=[{'id': share}])
        for place in (self.dataproc.nodes / 'fake-2' / 'mounts').iterdir():
            place.unlink()
        self.dataproc.engine.check()
        base.eventually(lambda: self.dataproc.mounted('fake-2'), 'nothing is mounted again')
        self.me.wait(made['id'], 'Active')

    def test_failed_rule_is_reported(self):
        share = self.shared()
        self.service.knob('alpha', 'update_access:fail_final')
        self.addCleanup(self.service.knob, 'alpha', '')
        made = self.make(group(count=1), shares=[{'id': share}], wait=('Error',))
        self.assertIn('could not apply access rule', made['status_description'])
        self.assertEqual({'fake-1': {}}, self.dataproc.mounted())
        self.service.knob('alpha', '')
        self.me.ok('DELETE', f'/clusters/{made["id"]}')
        self.me.wait(made['id'], 'gone')
        self.assertEqual({}, self.rules(share))

    def test_second_change_is_refused_while_one_is_under_way(self):
        made = self.make(group(count=1))
        self.dataproc.stop()
        share = self.shared()
        path = f'/clusters/{made["id"]}'
        self.me.ok('PATCH', path, {'shares': [{'id': share}]})
        self.assertEqual((409, 'CONFLICT'), self.me.refused('PATCH', path, {'shares': []})[:2])
        self.assertEqual(
            (409, 'CONFLICT'),
            self.me.refused('PUT', path, {'resize_node_groups': [{'name': 'workers', 'count': 2}]})[:2],
        )
        self.me.ok('PATCH', path, {'description': 'of no matter'})
        self.me.ok('DELETE', path)
        self.me.ok('DELETE', path)
        self.dataproc.start()
        self.me.wait(made['id'], 'gone')
        self.assertEqual({}, self.rules(share))

    def test_lost_operation_is_begun_again(self):
        made = self.make(group(count=1))
        self.dataproc.stop()
        self.me.ok('DELETE', f'/clusters/{made["id"]}')
        with self.dataproc.services.db.writer() as conn:
            conn.execute(operations.delete())
        self.dataproc.start()
        self.dataproc.engine.check()
        self.me.wait(made['id'], 'gone')


class SeveralEnginesTest(DataprocTest):
    """Several engines work on the same clusters."""

    def test_two_engines_do_everything_once(self):
        self.dataproc.stop()
        share = self.shared()
        made = [
            self.make(group(count=1), name=f'c{number}', shares=[{'id': share}], wait=None)
            for number in range(4)
        ]
        self.dataproc.start()
        first = self.dataproc.engine
        self.addCleanup(first.stop)
        self.dataproc.start()
        for cluster in made:
            self.me.wait(cluster['id'], 'Active')
        self.assertEqual(4, len(self.rules(share)))
        self.assertEqual([1, 1, 1, 1], list(map(len, self.dataproc.mounted().values())))
