# SPDX-License-Identifier: Apache-2.0
"""What is refused to replicas and to shares that have some, what counts, and what operators set right."""

from oslo_utils import uuidutils

from manila_lite import states
from manila_lite.db import transitions
from manila_lite.operations.doctor import examine
from manila_lite.tests.functional.test_share_replicas import Replicating


class Refused(Replicating):

    def test_what_a_share_with_replicas_cannot(self):
        share = self.make()
        replica = self.replicate(share)
        path = f'/shares/{share["id"]}'
        self.assertEqual(409, self.admin.call('DELETE', path)[0])
        wanted = {'host': 'test@beta', 'writable': False, 'nondisruptive': False, 'preserve_snapshots': True,
                  'preserve_metadata': True}
        for action, body in (('force_delete', None), ('soft_delete', None), ('unmanage', None), ('migration_start', wanted)):
            self.assertEqual(409, self.admin.action(share['id'], action, body)[0], action)
        self.assertEqual(409, self.admin.call('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})[0])
        self.assertEqual('available', self.shown(share)['status'])
        self.assertEqual(400, self.admin.call('DELETE', self.path(self.active(share)))[0])
        self.assertEqual(400, self.act(self.active(share), 'force_delete'))
        self.assertEqual('available', self.admin.ok('GET', self.path(replica))['share_replica']['status'])
        self.drop(share)

    def test_what_cannot_have_a_replica(self):
        plain = self.admin.share()
        for body, status in (({'share_id': plain['id']}, 400), ({'share_id': uuidutils.generate_uuid()}, 404), ({}, 400),
                             ({'share_id': plain['id'], 'colour': 'red'}, 400)):
            self.assertEqual(status, self.admin.call('POST', '/share-replicas', {'share_replica': body})[0], body)
        self.assertEqual(422, self.admin.call('POST', '/share-replicas', {})[0])
        share = self.make()
        for more in ({'availability_zone': 'nowhere'}, {'share_network_id': uuidutils.generate_uuid()}):
            body = {'share_id': share['id'], **more}
            self.assertEqual(400, self.admin.call('POST', '/share-replicas', {'share_replica': body})[0], body)
        self.assertEqual(403, self.caller('p').call('POST', '/share-replicas', {'share_replica': {
            'share_id': share['id'], 'scheduler_hints': {'only_host': 'test@beta'}}})[0])
        self.admin.action(share['id'], 'reset_status', {'status': 'error'})
        self.assertEqual(400, self.admin.call('POST', '/share-replicas', {'share_replica': {'share_id': share['id']}})[0])
        self.drop(share)

    def test_where_there_is_no_place(self):
        share = self.make()
        for zone in ('zone-a', 'zone-d'):       # where the active one is; in another replication domain
            made = self.admin.ok('POST', '/share-replicas', {'share_replica': {
                'share_id': share['id'], 'availability_zone': zone}})['share_replica']
            self.admin.wait(self.path(made), 'share_replica', 'error')
            [message] = self.admin.ok('GET', f'/messages?resource_id={made["id"]}')['messages']
            self.assertEqual(('001', '014'), (message['action_id'], message['detail_id']))
            self.assertEqual(400, self.act(made, 'resync'))
        self.drop(share)
        alone = self.admin.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'share_type': 'dr', (
            'availability_zone'): 'zone-d'}})['share']
        self.assertEqual('active', self.active(alone)['replica_state'])
        self.drop(alone)


class ByHand(Replicating):

    def test_quotas(self):
        boss, user = self.caller('counted', roles='admin,member,reader'), self.caller('counted')
        share = self.make(caller=boss)
        boss.ok('PUT', '/quota-sets/counted', {'quota_set': {'share_replicas': 2, 'replica_gigabytes': 5}})
        replica = self.replicate(share, caller=user)
        status, document, _ = user.call('POST', '/share-replicas', {'share_replica': {'share_id': share['id']}})
        self.assertEqual((413, 'over_quota_share_replicas'), (status, document['overLimit']['reason']))
        self.assertEqual(403, user.action(share['id'], 'extend', {'new_size': 3})[0])
        found = boss.ok('GET', '/quota-sets/counted/detail')['quota_set']
        self.assertEqual([(2, 2), (5, 4)], [(found[name]['limit'], found[name]['in_use'])
                                            for name in ('share_replicas', 'replica_gigabytes')])
        limits = user.ok('GET', '/limits')['limits']['absolute']
        self.assertEqual((2, 4), (limits['totalShareReplicasUsed'], limits['totalReplicaGigabytesUsed']))
        self.assertEqual([replica['id']], [row['id'] for row in user.ok(
            'GET', f'/share-replicas?replica_state=in_sync&share_id={share["id"]}')['share_replicas']])
        self.assertEqual([], self.caller('another').ok('GET', '/share-replicas')['share_replicas'])
        self.assertEqual(404, self.caller('another').call('GET', self.path(replica))[0])
        self.drop(share)

    def test_a_backend_that_does_not_delete(self):
        share = self.make()
        replica = self.replicate(share)
        self.service.knob('beta', 'delete_replica:fail_final\n')
        self.admin.ok('DELETE', self.path(replica))
        self.admin.wait(self.path(replica), 'share_replica', 'error_deleting')
        self.assertEqual(202, self.act(replica, 'force_delete'))
        self.admin.wait(self.path(replica), 'share_replica', 'gone')
        self.drop(share)

    def test_states_that_an_administrator_sets(self):
        share = self.make()
        replica = self.replicate(share)
        self.assertEqual(202, self.act(replica, 'reset_replica_state', {'replica_state': 'out_of_sync'}))
        self.assertEqual('out_of_sync', self.replicas(share)[replica['id']]['replica_state'])
        self.assertEqual(202, self.act(replica, 'reset_status', {'status': 'error'}))
        self.assertEqual(400, self.act(replica, 'promote'))
        for action, body in (('reset_replica_state', {'replica_state': 'fine'}), ('reset_status', {'status': 'fine'})):
            self.assertEqual(400, self.act(replica, action, body), action)
        self.assertEqual(202, self.act(replica, 'resync'))
        self.is_in_sync(replica)
        path = f'/share_instances/{replica["id"]}'
        self.assertEqual('in_sync', self.admin.ok('GET', path)['share_instance']['replica_state'])
        self.admin.ok('POST', f'{path}/action', {'force_delete': None})
        self.admin.wait(self.path(replica), 'share_replica', 'gone')
        self.assertEqual('available', self.shown(share)['status'])
        self.drop(share)

    def test_a_promotion_that_hangs_can_be_stopped(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)
        self.service.knob('beta', 'promote_replica:hang\n')
        self.assertEqual(202, self.act(replica, 'promote'))
        self.assertEqual(('replication_change', 'replication_change'), (
            self.shown(share)['status'], self.replicas(share)[replica['id']]['status']))
        self.assertEqual(202, self.act(replica, 'reset_status', {'status': 'error'}))
        self.assertEqual(('available', old['id']), (self.shown(share)['status'], self.active(share)['id']))
        self.service.knob('beta', '')
        self.act(replica, 'resync')
        self.is_in_sync(replica)
        self.drop(share)

    def test_metadata_and_versions(self):
        share = self.make()
        replica = self.replicate(share, metadata={'a': 'b'})
        path = self.path(replica, '/metadata')
        self.assertEqual({'a': 'b', 'c': 'd'}, self.admin.ok('POST', path, {'metadata': {'c': 'd'}})['metadata'])
        self.admin.ok('DELETE', f'{path}/a')
        found = self.admin.ok('GET', "/share-replicas/detail?metadata={'c':'d'}")['share_replicas']
        self.assertEqual([replica['id']], [row['id'] for row in found])
        once = {'version': '2.55', 'headers': {'X-OpenStack-Manila-API-Experimental': 'true'}}
        self.assertEqual(404, self.admin.call('GET', self.path(replica), version='2.55')[0])
        self.assertNotIn('metadata', self.admin.ok('GET', self.path(replica), **once)['share_replica'])
        self.assertEqual(200, self.admin.call('GET', self.path(replica), version='2.56')[0])
        for version, body in (('2.66', {'scheduler_hints': {'only_host': 'test@beta'}}), ('2.71', {'share_network_id': 'x'}),
                              ('2.94', {'metadata': {'a': 'b'}})):
            self.assertEqual(400, self.admin.call('POST', '/share-replicas', {'share_replica': {
                'share_id': share['id'], **body}}, version=version)[0], version)
        self.assertEqual(400, self.act(replica, 'promote', {'quiesce_wait_time': 1}, version='2.74'))
        user = self.caller('p', roles='reader')
        listed = user.ok('GET', f'/share-replicas?share_id={share["id"]}&limit=1&sort_key=created_at&sort_dir=asc')
        self.assertEqual('active', listed['share_replicas'][0]['replica_state'])
        self.assertIn('share_replicas_links', listed)
        self.assertNotIn('host', self.replicas(share, user)[replica['id']])
        self.drop(share)

    def test_what_is_left_half_done_is_found_and_mended(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)

        def found():
            return {finding.id: finding for finding in examine.look(self.service.services)
                    if finding.id in (share['id'], replica['id'])}

        self.assertEqual({}, found())
        self.act(replica, 'reset_status', {'status': 'creating'})
        with self.service.services.db.writer() as conn:
            transitions.begin(conn, states.SHARE, 'hand_over', old['id'])
        self.assertEqual({'share replica', 'share'}, {finding.what for finding in found().values()})
        for finding in found().values():
            self.assertIsNotNone(examine.mend(self.service.services, finding))
        self.assertEqual({}, found())
        self.assertEqual(('available', 'error'), (
            self.shown(share)['status'], self.replicas(share)[replica['id']]['status']))
        self.drop(share)
