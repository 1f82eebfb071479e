# SPDX-License-Identifier: Apache-2.0
"""Replicas and shares with replicas: refused requests, quotas, and repairs by operators."""

import contextlib

from oslo_utils import uuidutils

from manila_lite import states
from manila_lite.db.core import transitions
from manila_lite.db.queries import operations, share_replicas
from manila_lite.doctor import examine
from manila_lite.manager.runtime.service import ShareManager
from manila_lite.tests.functional import base
from manila_lite.tests.functional.share_replicas.test_share_replicas import Replicating


class Refused(Replicating):
    def test_share_with_replicas_cannot_be_deleted_unmanaged_moved_or_transferred(self):
        share = self.make()
        replica = self.replicate(share)
        path = f'/shares/{share["id"]}'
        self.assertEqual(409, self.admin.call('DELETE', path)[0])
        wanted = {
            'host': 'test@beta',
            'writable': False,
            'nondisruptive': False,
            'preserve_snapshots': True,
            'preserve_metadata': True,
        }
        for action, body in (
            ('force_delete', None),
            ('soft_delete', None),
            ('unmanage', None),
            ('migration_start', wanted),
        ):
            self.assertEqual(409, self.admin.action(share['id'], action, body)[0], action)
        self.assertEqual(
            409, self.admin.call('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})[0]
        )
        self.assertEqual('available', self.shown(share)['status'])
        self.assertEqual(400, self.admin.call('DELETE', self.path(self.active(share)))[0])
        self.assertEqual(400, self.act(self.active(share), 'force_delete'))
        self.assertEqual('available', self.admin.ok('GET', self.path(replica))['share_replica']['status'])
        self.drop(share)

    def test_invalid_replicas_are_refused(self):
        plain = self.admin.share()
        for body, status in (
            ({'share_id': plain['id']}, 400),
            ({'share_id': uuidutils.generate_uuid()}, 404),
            ({}, 400),
            ({'share_id': plain['id'], 'colour': 'red'}, 400),
        ):
            self.assertEqual(
                status, self.admin.call('POST', '/share-replicas', {'share_replica': body})[0], body
            )
        self.assertEqual(422, self.admin.call('POST', '/share-replicas', {})[0])
        share = self.make()
        for more in ({'availability_zone': 'nowhere'}, {'share_network_id': uuidutils.generate_uuid()}):
            body = {'share_id': share['id'], **more}
            self.assertEqual(
                400, self.admin.call('POST', '/share-replicas', {'share_replica': body})[0], body
            )
        self.assertEqual(
            403,
            self.caller('p').call(
                'POST',
                '/share-replicas',
                {'share_replica': {'share_id': share['id'], 'scheduler_hints': {'only_host': 'test@beta'}}},
            )[0],
        )
        self.admin.action(share['id'], 'reset_status', {'status': 'error'})
        self.assertEqual(
            400, self.admin.call('POST', '/share-replicas', {'share_replica': {'share_id': share['id']}})[0]
        )
        self.drop(share)

    def test_replica_without_a_suitable_backend_is_in_error(self):
        share = self.make()
        for zone in (
            'zone-a',
            'zone-d',
        ):  # the zone of the active replica; a zone in another replication domain
            made = self.admin.ok(
                'POST',
                '/share-replicas',
                {'share_replica': {'share_id': share['id'], 'availability_zone': zone}},
            )['share_replica']
            self.admin.wait(self.path(made), 'share_replica', 'error')
            [message] = self.admin.ok('GET', f'/messages?resource_id={made["id"]}')['messages']
            self.assertEqual(('001', '014'), (message['action_id'], message['detail_id']))
            self.assertEqual(400, self.act(made, 'resync'))
            self.assertEqual(202, self.act(made, 'reset_status', {'status': 'available'}))
            self.assertEqual(400, self.act(made, 'promote'))
        self.drop(share)
        alone = self.admin.ok(
            'POST',
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'share_type': 'dr', ('availability_zone'): 'zone-d'}},
        )['share']
        self.assertEqual('active', self.active(alone)['replica_state'])
        self.drop(alone)

    def test_replica_is_created_on_the_host_that_an_administrator_names(self):
        share = self.make()
        for host in ('test@gamma', 'test@beta', 'test@gamma'):
            made = self.admin.ok(
                'POST',
                '/share-replicas',
                {'share_replica': {'share_id': share['id'], 'scheduler_hints': {'only_host': host}}},
            )['share_replica']
            self.assertEqual(host, self.is_in_sync(made)['host'].partition('#')[0])
            self.admin.ok('DELETE', self.path(made))
        self.drop(share)


class ByHand(Replicating):
    def test_replicas_count_in_the_replica_quotas(self):
        boss, user = self.caller('counted', roles='admin,member,reader'), self.caller('counted')
        share = self.make(caller=boss)
        boss.ok('PUT', '/quota-sets/counted', {'quota_set': {'share_replicas': 2, 'replica_gigabytes': 5}})
        replica = self.replicate(share, caller=user)
        status, document, _ = user.call(
            'POST', '/share-replicas', {'share_replica': {'share_id': share['id']}}
        )
        self.assertEqual((413, 'over_quota_share_replicas'), (status, document['overLimit']['reason']))
        status, document, _ = user.action(share['id'], 'extend', {'new_size': 3})
        self.assertEqual((413, 'over_quota_replica_gigabytes'), (status, document['overLimit']['reason']))
        found = boss.ok('GET', '/quota-sets/counted/detail')['quota_set']
        self.assertEqual(
            [(2, 2), (5, 4)],
            [
                (found[name]['limit'], found[name]['in_use'])
                for name in ('share_replicas', 'replica_gigabytes')
            ],
        )
        limits = user.ok('GET', '/limits')['limits']['absolute']
        self.assertEqual((2, 4), (limits['totalShareReplicasUsed'], limits['totalReplicaGigabytesUsed']))
        self.assertEqual(
            [replica['id']],
            [
                row['id']
                for row in user.ok('GET', f'/share-replicas?replica_state=in_sync&share_id={share["id"]}')[
                    'share_replicas'
                ]
            ],
        )
        self.assertEqual([], self.caller('another').ok('GET', '/share-replicas')['share_replicas'])
        self.assertEqual(404, self.caller('another').call('GET', self.path(replica))[0])
        self.drop(share)

    def test_replica_in_error_deleting_can_be_deleted_by_force(self):
        share = self.make()
        replica = self.replicate(share)
        self.service.knob('beta', 'delete_replica:fail_final\n')
        self.admin.ok('DELETE', self.path(replica), wait=False)
        self.admin.wait(self.path(replica), 'share_replica', 'error_deleting')
        self.assertEqual(202, self.act(replica, 'force_delete'))
        self.admin.wait(self.path(replica), 'share_replica', 'gone')
        self.drop(share)

    def test_replica_states_can_be_reset_to_known_values_only(self):
        share = self.make()
        replica = self.replicate(share)
        self.assertEqual(202, self.act(replica, 'reset_replica_state', {'replica_state': 'out_of_sync'}))
        self.assertEqual('out_of_sync', self.replicas(share)[replica['id']]['replica_state'])
        self.assertEqual(202, self.act(replica, 'reset_status', {'status': 'error'}))
        self.assertEqual(400, self.act(replica, 'promote'))
        for action, body in (
            ('reset_replica_state', {'replica_state': 'fine'}),
            ('reset_status', {'status': 'fine'}),
        ):
            self.assertEqual(400, self.act(replica, action, body), action)
        self.assertEqual(202, self.act(replica, 'resync'))
        self.is_in_sync(replica)
        path = f'/share_instances/{replica["id"]}'
        self.assertEqual('in_sync', self.admin.ok('GET', path)['share_instance']['replica_state'])
        self.admin.ok('POST', f'{path}/action', {'force_delete': None})
        self.admin.wait(self.path(replica), 'share_replica', 'gone')
        self.assertEqual('available', self.shown(share)['status'])
        self.drop(share)

    def hanging(self, share=None):
        """Return a share with an access rule, its active replica, and a replica whose promotion hangs at its end."""
        share = share or self.make()
        self.grant(share)
        old, replica = self.active(share), self.replicate(share)
        self.service.knob('beta', 'promote_replica:hang_after\n')
        self.assertEqual(202, self.act(replica, 'promote'))
        self.assertEqual(
            ('replication_change', 'replication_change'),
            (self.shown(share)['status'], self.replicas(share)[replica['id']]['status']),
        )
        base.eventually(lambda: self.rules(old) == (False, []), 'it did not begin')
        return share, old, replica

    def is_served(self, share, old):
        """Check that the share is where it was, and that clients have access there."""
        self.assertEqual(('available', old['id']), (self.shown(share)['status'], self.active(share)['id']))
        base.eventually(lambda: self.rules(old) == (True, [('10.1.0.0/20', 'rw')]), 'nobody is let in')

    def test_status_reset_of_the_replica_stops_a_hanging_promotion(self):
        share, old, replica = self.hanging()
        self.assertEqual(202, self.act(replica, 'reset_status', {'status': 'error'}))
        self.is_served(share, old)
        self.service.knob('beta', '')
        self.is_in_sync(replica)
        self.is_served(share, old)
        self.assertEqual((False, []), self.rules(replica))
        self.drop(share)

    def test_snapshots_cannot_be_deleted_during_a_promotion(self):
        share = self.make()
        snapshot = self.take(share)
        _, old, replica = self.hanging(share)
        for call in (
            ('DELETE', f'/snapshots/{snapshot}'),
            ('POST', f'/snapshots/{snapshot}/action', {'force_delete': None}),
        ):
            self.assertEqual(403, self.admin.call(*call)[0])
        self.act(replica, 'reset_status', {'status': 'error'})
        self.is_served(share, old)
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.service.knob('beta', '')
        self.drop(share)

    def test_status_reset_of_the_share_stops_a_hanging_promotion(self):
        share, old, replica = self.hanging()
        self.admin.action(share['id'], 'reset_status', {'status': 'available'})
        self.service.knob('beta', '')
        path = f'/messages?resource_id={replica["id"]}'
        base.eventually(lambda: self.admin.ok('GET', path)['messages'], 'nobody is told')
        self.is_in_sync(replica)
        self.is_served(share, old)
        self.assertEqual((False, []), self.rules(replica))
        self.drop(share)

    def test_forced_deletion_of_the_replica_stops_a_hanging_promotion(self):
        share, old, replica = self.hanging()
        self.assertEqual(400, self.admin.call('DELETE', self.path(replica))[0])
        self.assertEqual(202, self.act(replica, 'force_delete'))
        self.is_served(share, old)
        self.service.knob('beta', '')
        self.admin.wait(self.path(replica), 'share_replica', 'gone')
        self.is_served(share, old)
        self.assertIsNone(self.store('beta').shares.get(replica['id']))
        self.drop(share)

    def test_active_replica_with_a_changed_state_is_active_after_resync(self):
        share = self.make()
        active = self.active(share)
        self.assertEqual(400, self.act(active, 'reset_replica_state', {'replica_state': 'in_sync'}))
        with self.service.services.db.writer() as conn:
            transitions.set_replica_state(
                conn, active['id'], states.Replica.IN_SYNC
            )  # as in earlier releases
        self.assertEqual(200, self.act(active, 'resync'))
        self.assertEqual(active['id'], self.active(share)['id'])
        self.drop(share)

    def test_metadata_and_fields_depend_on_the_api_version(self):
        share = self.make()
        replica = self.replicate(share, metadata={'a': 'b'})
        path = self.path(replica, '/metadata')
        self.assertEqual(
            {'a': 'b', 'c': 'd'}, self.admin.ok('POST', path, {'metadata': {'c': 'd'}})['metadata']
        )
        self.admin.ok('DELETE', f'{path}/a')
        found = self.admin.ok('GET', "/share-replicas/detail?metadata={'c':'d'}")['share_replicas']
        self.assertEqual([replica['id']], [row['id'] for row in found])
        found = self.admin.ok('GET', '/share-replicas/detail?metadata=c:d')[
            'share_replicas'
        ]  # as python-manilaclient
        self.assertEqual([replica['id']], [row['id'] for row in found])
        self.assertEqual(400, self.admin.call('GET', '/share-replicas/detail?metadata=c')[0])
        once = {'version': '2.55', 'headers': {'X-OpenStack-Manila-API-Experimental': 'true'}}
        self.assertEqual(404, self.admin.call('GET', self.path(replica), version='2.55')[0])
        self.assertNotIn('metadata', self.admin.ok('GET', self.path(replica), **once)['share_replica'])
        self.assertEqual(200, self.admin.call('GET', self.path(replica), version='2.56')[0])
        for version, body in (
            ('2.66', {'scheduler_hints': {'only_host': 'test@beta'}}),
            ('2.71', {'share_network_id': 'x'}),
            ('2.94', {'metadata': {'a': 'b'}}),
        ):
            status, document, headers = self.admin.call(
                'POST',
                '/share-replicas',
                {'share_replica': {'share_id': share['id'], **body}},
                version=version,
            )
            self.assertEqual(
                (202, f'share_replica.{next(iter(body))}'),
                (status, headers['X-OpenStack-Manila-Ignored-Fields']),
                version,
            )
            made = self.is_in_sync(document['share_replica'])
            self.admin.ok('DELETE', self.path(made))
        user = self.caller('p', roles='reader')
        listed = user.ok(
            'GET', f'/share-replicas?share_id={share["id"]}&limit=1&sort_key=created_at&sort_dir=asc'
        )
        self.assertEqual('active', listed['share_replicas'][0]['replica_state'])
        self.assertIn('share_replicas_links', listed)
        self.assertNotIn('host', self.replicas(share, user)[replica['id']])
        self.assertEqual(
            202,
            self.act(replica, 'promote', {'quiesce_wait_time': 'ignored: it came with 2.75'}, version='2.74'),
        )
        self.admin.wait(self.path(replica), 'share_replica', 'active', field='replica_state')
        self.drop(share)

    def test_doctor_repairs_a_share_and_replica_without_operation(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)

        def found():
            return {
                finding.id: finding
                for finding in examine.list_findings(self.service.services)
                if finding.id in (share['id'], replica['id'])
            }

        self.assertEqual({}, found())
        self.act(replica, 'reset_status', {'status': 'creating'})
        with self.service.services.db.writer() as conn:
            transitions.begin(conn, states.SHARE, 'hand_over', old['id'])
        self.assertEqual({'share replica', 'share'}, {finding.what for finding in found().values()})
        for finding in found().values():
            self.assertIsNotNone(examine.mend(self.service.services, finding))
        self.assertEqual({}, found())
        self.assertEqual(
            ('available', 'error'),
            (self.shown(share)['status'], self.replicas(share)[replica['id']]['status']),
        )
        self.drop(share)


class Snapshots(Replicating):
    def test_failed_snapshot_does_not_stop_updates_of_a_replica(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)
        self.service.knob('alpha', 'create_snapshot:fail_final\n')
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot'][
            'id'
        ]
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'error')
        self.service.knob('alpha', '')
        self.driver(old).write(old['id'], 'later')
        self.act(replica, 'resync')
        base.eventually(lambda: self.holds(replica, 'later'), 'it does not follow')
        self.is_in_sync(replica)
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.drop(share)

    def test_snapshots_at_a_dead_backend_are_deleted_when_it_returns(self):
        share = self.make()
        snapshot = self.take(share)
        old, replica = self.active(share), self.replicate(share)
        with self.dead('alpha'):
            self.act(replica, 'promote')
            self.assertEqual(replica['id'], self.active(share)['id'])
            self.admin.ok('DELETE', f'/snapshots/{snapshot}')
            self.admin.ok('DELETE', self.path(old), wait=False)
            with self.service.services.db.reader() as conn:
                [deletion] = operations.list_of_resource(conn, old['id'], share_replicas.DELETE)
            self.assertEqual([snapshot], deletion.data['left'])
        self.admin.wait(self.path(old), 'share_replica', 'gone')
        self.assertEqual(
            (None, None),
            (self.store('alpha').shares.get(old['id']), self.store('alpha').snapshots.get(snapshot)),
        )
        self.drop(share)

    @contextlib.contextmanager
    def dead(self, name):
        """Stop the backend's share manager meanwhile."""
        managers = self.service.managers
        managers[name].stop()
        try:
            yield
        finally:
            managers[name] = ShareManager(self.service.services, name)
            managers[name].start()
