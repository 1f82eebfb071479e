# SPDX-License-Identifier: Apache-2.0
"""Replicas of a share at other backends: they follow it, and one can be promoted, also when its backend is dead."""

import contextlib

from oslo_utils import timeutils

from manila_lite import context
from manila_lite.db.queries import metrics_queries, operations, share_replicas
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.workflow import ensure

_BACKEND = 'dummy_replication_domain = far\nbackend_availability_zone = {}\n'
_ELSEWHERE = 'dummy_replication_domain = other\nbackend_availability_zone = zone-d\n'


class Replicating(base.ServiceTest):
    """Helpers to make and promote replicas."""

    BACKENDS = {
        'alpha': _BACKEND.format('zone-a'),
        'beta': _BACKEND.format('zone-b'),
        'gamma': _BACKEND.format('zone-c') + 'replica_state_update_interval = 1\n',
        'delta': _ELSEWHERE,
    }
    EXTRA = '[quota]\nshare_replicas = -1\nreplica_gigabytes = -1\nshares = -1\ngigabytes = -1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ('dr', 'readable'):
            cls.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {
                            'driver_handles_share_servers': 'False',
                            'snapshot_support': 'True',
                            'revert_to_snapshot_support': 'True',
                            'mount_snapshot_support': 'True',
                            'replication_type': name,
                        },
                    }
                },
            )

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')

    def make(self, kind='dr', caller=None, **more):
        """Make a share of 2 GiB on ``alpha``; return it."""
        return (caller or self.admin).share(size=2, share_type=kind, availability_zone='zone-a', **more)

    def replicate(self, share, zone='zone-b', caller=None, **more):
        """Make a replica, and wait until it is in sync and nothing updates it any more; return it."""
        made = (caller or self.admin).ok(
            'POST',
            '/share-replicas',
            {'share_replica': {'share_id': share['id'], 'availability_zone': zone, **more}},
        )['share_replica']
        self.is_in_sync(made)
        self.service.settled(made['id'])
        return self.is_in_sync(made)

    def is_in_sync(self, replica):
        self.admin.wait(self.path(replica), 'share_replica', 'in_sync', field='replica_state')
        return self.admin.wait(self.path(replica), 'share_replica', 'available')

    @staticmethod
    def path(replica, more=''):
        return f'/share-replicas/{replica["id"]}{more}'

    def act(self, replica, action, body=None, caller=None, **more):
        return (caller or self.admin).call('POST', self.path(replica, '/action'), {action: body}, **more)[0]

    def replicas(self, share, caller=None, **more):
        found = (caller or self.admin).ok('GET', f'/share-replicas/detail?share_id={share["id"]}', **more)[
            'share_replicas'
        ]
        return {row['id']: row for row in found}

    def read_only(self, share):
        """Return by id whether clients may only read a replica."""
        return {
            resource_id: row['cast_rules_to_readonly'] for resource_id, row in self.replicas(share).items()
        }

    def active(self, share):
        """Return the active replica, once there is one and the share is available."""
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        [found] = [row for row in self.replicas(share).values() if row['replica_state'] == 'active']
        return found

    def shown(self, share, **more):
        return self.admin.ok('GET', f'/shares/{share["id"]}', **more)['share']

    def store(self, backend):
        return self.service.managers[backend].driver.store

    def calls(self, method, backend='alpha'):
        return self.store(backend).calls(method)

    def work_on(self, replica, kind):
        """Return the newest operation of this kind on the replica."""
        with self.service.services.db.reader() as conn:
            return operations.list_of_resource(conn, replica['id'], kind)[-1]

    def holds(self, replica, content):
        """Say whether the replica has the content."""
        return self.driver(replica).read(replica['id']) == content

    def driver(self, replica):
        return self.service.managers[replica['host'].partition('@')[2].partition('#')[0]].driver

    @contextlib.contextmanager
    def away(self, backend):
        """Let the backend be out of reach meanwhile."""
        mark = self.store(backend).root / 'away'
        mark.touch()
        try:
            yield
        finally:
            mark.unlink()

    def grant(self, share, to='10.1.0.0/20', **more):
        self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': to}, **more)
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')

    def rules(self, replica):
        """Return whether the replica is exported at its backend, and its addresses and access levels there."""
        record = self.driver(replica).store.share(replica['id'])
        return record.exported, sorted((to, level) for _type, to, level in record.rules.values())

    def take(self, share, caller=None):
        """Make a snapshot; return its id."""
        snapshot = (caller or self.admin).ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})[
            'snapshot'
        ]
        self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        return snapshot['id']

    def drop(self, share):
        """Delete the share and its replicas."""
        for replica_id, row in self.replicas(share).items():
            if row['replica_state'] != 'active':
                self.admin.ok('DELETE', f'/share-replicas/{replica_id}')
            self.service.settled(replica_id)
        self.admin.ok('DELETE', f'/shares/{share["id"]}')


class Following(Replicating):
    def test_replica_gets_the_data_of_its_share_by_resync(self):
        share = self.make()
        [active] = self.replicas(share).values()
        self.assertEqual(
            ('active', 'zone-a', False),
            (active['replica_state'], active['availability_zone'], self.shown(share)['has_replicas']),
        )
        self.driver(active).write(active['id'], 'one')
        replica = self.replicate(share, metadata={'why': 'safety'})
        self.assertEqual(
            ('zone-b', {'why': 'safety'}, False),
            (replica['availability_zone'], replica['metadata'], replica['cast_rules_to_readonly']),
        )
        self.assertTrue(self.holds(replica, 'one'))
        shown = self.shown(share)
        self.assertEqual(
            (True, 'dr', 'test@alpha#pool1'),
            (shown['has_replicas'], shown['replication_type'], shown['host']),
        )
        self.driver(active).write(active['id'], 'two')
        self.assertEqual(202, self.act(replica, 'resync'))
        base.eventually(lambda: self.holds(replica, 'two'), 'it does not follow')
        self.assertEqual(200, self.act(active, 'resync'))
        self.assertEqual(
            [], self.admin.ok('GET', self.path(replica, '/export-locations'))['export_locations']
        )
        self.drop(share)
        self.assertIsNone(self.driver(replica).store.shares.get(replica['id']))

    def test_replica_in_deletion_gets_no_access_rules(self):
        share = self.make('readable')
        replica = self.replicate(share)
        told = len(self.calls('update_access', 'beta'))
        self.service.knob('beta', 'update_access:hang\n')
        self.grant(share)
        base.eventually(lambda: len(self.calls('update_access', 'beta')) > told, 'it is not told')
        self.grant(share, '10.2.0.1')
        self.assertEqual(202, self.act(replica, 'reset_status', {'status': 'error_deleting'}))
        self.service.knob('beta', '')
        base.eventually(
            lambda: self.work_on(replica, share_replicas.ACCESS).state == operations.DONE, 'it goes on'
        )
        self.assertEqual((True, [('10.1.0.0/20', 'ro')]), self.rules(replica))
        self.assertEqual(told + 1, len(self.calls('update_access', 'beta')))
        self.drop(share)

    def test_access_rules_of_a_readable_replica_are_read_only(self):
        share = self.make('readable')
        self.grant(share)
        replica = self.replicate(share)
        self.assertTrue(replica['cast_rules_to_readonly'])
        self.assertEqual((True, [('10.1.0.0/20', 'ro')]), self.rules(replica))
        self.grant(share, '10.2.0.1')
        base.eventually(
            lambda: self.rules(replica)[1] == [('10.1.0.0/20', 'ro'), ('10.2.0.1', 'ro')],
            'not told of a rule',
        )
        for rule in self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']:
            self.admin.action(share['id'], 'deny_access', {'access_id': rule['id']})
        base.eventually(lambda: self.rules(replica) == (True, []), 'a rule is in force yet')
        [place] = [
            row
            for row in self.admin.ok('GET', self.path(replica, '/export-locations'))['export_locations']
            if row['preferred']
        ]
        self.assertEqual(
            ('in_sync', 'zone-b', replica['id']),
            (place['replica_state'], place['availability_zone'], place['share_instance_id']),
        )
        one = self.admin.ok('GET', self.path(replica, f'/export-locations/{place["id"]}'))['export_location']
        self.assertEqual(place['path'], one['path'])
        shown = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        self.assertNotIn(place['id'], [row['id'] for row in shown])
        here = f'/shares/{share["id"]}/export_locations'
        self.assertEqual(404, self.admin.call('GET', f'{here}/{place["id"]}')[0])
        self.assertIn(
            place['id'], [row['id'] for row in self.admin.ok('GET', here, version='2.46')['export_locations']]
        )
        old = self.admin.ok('GET', f'{here}/{place["id"]}', version='2.46')['export_location']
        self.assertEqual(place['path'], old['path'])
        self.drop(share)

    def test_export_locations_of_a_replica_show_their_metadata(self):
        share = self.make()
        [active] = self.admin.ok('GET', f'/share-replicas?share_id={share["id"]}')['share_replicas']
        here = self.path(active, '/export-locations')
        place = self.admin.ok('GET', here)['export_locations'][0]
        self.assertEqual({}, place['metadata'])
        self.admin.ok(
            'POST',
            f'/shares/{share["id"]}/export_locations/{place["id"]}/metadata',
            {'metadata': {'speed': 'high'}},
        )
        found = {row['id']: row['metadata'] for row in self.admin.ok('GET', here)['export_locations']}
        self.assertEqual({'speed': 'high'}, found.pop(place['id']))
        self.assertEqual([{}] * len(found), list(found.values()))
        one = f'{here}/{place["id"]}'
        self.assertEqual({'speed': 'high'}, self.admin.ok('GET', one)['export_location']['metadata'])
        self.assertNotIn('metadata', self.admin.ok('GET', one, version='2.86')['export_location'])
        self.drop(share)

    def test_replica_gets_size_and_snapshots_of_its_share(self):
        share = self.make()
        replica = self.replicate(share)
        self.admin.action(share['id'], 'extend', {'new_size': 3})
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        store = self.driver(replica).store
        base.eventually(lambda: store.share(replica['id']).size == 3, 'it has not grown')
        snapshot = self.take(share)
        base.eventually(lambda: store.snapshots.get(snapshot), 'it has not got the snapshot')
        path = f'/snapshot-instances/detail?snapshot_id={snapshot}'
        base.eventually(
            lambda: len(self.admin.ok('GET', path)['snapshot_instances']) == 2, 'no row of the snapshot there'
        )
        found = {row['share_instance_id']: row for row in self.admin.ok('GET', path)['snapshot_instances']}
        self.assertEqual(
            (snapshot, 'available'), (found[replica['id']]['snapshot_id'], found[replica['id']]['status'])
        )
        one = self.admin.ok('GET', f'/snapshot-instances/{found[replica["id"]]["id"]}')['snapshot_instance']
        self.assertEqual(replica['id'], one['share_instance_id'])
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        base.eventually(lambda: store.snapshots.get(snapshot) is None, 'it keeps the snapshot')
        self.drop(share)

    def test_replica_is_updated_periodically(self):
        share = self.make()
        active = self.active(share)
        replica = self.replicate(share, 'zone-c')  # its backend updates replicas every second
        self.driver(active).write(active['id'], 'later')
        base.eventually(lambda: self.holds(replica, 'later'), 'nobody looked')
        with self.away('alpha'):
            self.admin.wait(self.path(replica), 'share_replica', 'out_of_sync', field='replica_state')
        self.is_in_sync(replica)
        self.drop(share)

    def oldest(self, backend):
        """Return of which time the data of the oldest replica at the backend are, as the metrics have it, or None."""
        with self.service.services.db.reader() as conn:
            return {
                row.host.partition('#')[0]: row.synced_at for row in metrics_queries.oldest_replicas(conn, 10)
            }.get(f'test@{backend}')

    def test_age_of_a_replica_counts_from_the_last_update_that_reached_the_share(self):
        share = self.make()
        self.assertIsNone(self.oldest('gamma'))
        replica = self.replicate(share, 'zone-c')
        old, before = self.active(share), self.oldest('gamma')
        base.eventually(lambda: self.oldest('gamma') > before, 'periodic updates do not count')
        with self.away('alpha'):
            self.admin.wait(self.path(replica), 'share_replica', 'out_of_sync', field='replica_state')
            before, tries = self.oldest('gamma'), len(self.calls('update_replica', 'gamma'))
            base.eventually(
                lambda: len(self.calls('update_replica', 'gamma')) > tries + 1, 'it is not tried again'
            )
            self.assertEqual(before, self.oldest('gamma'))
            began = timeutils.utcnow()
            self.act(replica, 'promote')
            self.assertEqual(replica['id'], self.active(share)['id'])
            self.assertEqual(
                (True, None), (began <= self.oldest('alpha') <= timeutils.utcnow(), self.oldest('gamma'))
            )
        self.act(old, 'resync')
        self.is_in_sync(old)
        self.drop(share)

    def test_failed_replica_is_in_sync_after_resync(self):
        share = self.make('readable')
        replica = self.replicate(share)
        self.service.knob('beta', 'update_replica:fail_final\n')
        self.act(replica, 'resync')
        self.admin.wait(self.path(replica), 'share_replica', 'error')
        self.assertEqual('error', self.admin.ok('GET', self.path(replica))['share_replica']['replica_state'])
        [message] = self.admin.ok('GET', f'/messages?resource_id={replica["id"]}')['messages']
        self.assertEqual(('SHARE_REPLICA', '005'), (message['resource_type'], message['action_id']))
        rule = {'access_type': 'ip', 'access_to': '10.9.0.1'}
        self.assertEqual(400, self.admin.action(share['id'], 'allow_access', rule, version='2.73')[0])
        self.assertEqual(200, self.admin.action(share['id'], 'allow_access', rule, version='2.74')[0])
        self.service.knob('beta', '')
        self.assertEqual(202, self.act(replica, 'resync'))
        self.is_in_sync(replica)
        self.drop(share)


class Promoting(Replicating):
    def test_promotion_swaps_active_replica_and_access_levels(self):
        share = self.make('readable', name='mine')
        self.grant(share)
        snapshot = self.take(share)
        old, replica = self.active(share), self.replicate(share)
        third = self.replicate(share, 'zone-c')
        self.driver(old).write(old['id'], 'the last word')
        self.assertEqual(202, self.act(replica, 'promote', {'quiesce_wait_time': 30}))
        self.assertEqual(replica['id'], self.active(share)['id'])
        shown = self.shown(share)
        self.assertEqual(
            ('test@beta#pool1', 'zone-b', 'mine', True),
            (shown['host'], shown['availability_zone'], shown['name'], shown['has_replicas']),
        )
        self.assertTrue(self.holds(replica, 'the last word'))
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')
        self.assertEqual((True, [('10.1.0.0/20', 'rw')]), self.rules(replica))
        for other in (old, third):
            self.is_in_sync(other)
            self.assertEqual((True, [('10.1.0.0/20', 'ro')]), self.rules(other))
        self.assertEqual({old['id']: True, third['id']: True, replica['id']: False}, self.read_only(share))
        self.driver(replica).write(replica['id'], 'a new word')
        self.act(old, 'resync')
        base.eventually(lambda: self.holds(old, 'a new word'), 'it does not follow')
        self.assertEqual(202, self.admin.action(share['id'], 'revert', {'snapshot_id': snapshot})[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.assertTrue(self.holds(replica, ''))
        self.assertEqual(200, self.act(replica, 'promote'))
        self.assertEqual(202, self.act(old, 'promote'))
        self.assertEqual(old['id'], self.active(share)['id'])
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.drop(share)

    def test_readable_replica_that_was_active_keeps_its_export_locations(self):
        share = self.make('readable')
        self.grant(share)
        old, replica = self.active(share), self.replicate(share)
        before = self.locations(old)
        self.assertNotEqual([], before)
        self.service.knob('alpha', 'update_replica:hang\n')
        self.assertEqual(202, self.act(replica, 'promote'))
        self.assertEqual(replica['id'], self.active(share)['id'])
        self.assertEqual(before, self.locations(old))
        self.service.knob('alpha', '')
        self.is_in_sync(old)
        self.assertEqual((before, (True, [('10.1.0.0/20', 'ro')])), (self.locations(old), self.rules(old)))
        self.drop(share)

    def locations(self, replica):
        """Return ids and paths of the export locations of a replica."""
        found = self.admin.ok('GET', self.path(replica, '/export-locations'))['export_locations']
        return sorted((row['id'], row['path']) for row in found)

    def test_replica_is_promoted_when_the_active_backend_is_unreachable(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)
        self.grant(share)
        self.driver(old).write(old['id'], 'kept')
        self.act(replica, 'resync')
        base.eventually(lambda: self.holds(replica, 'kept'), 'it does not follow')
        user = self.caller('p')
        with self.away('alpha'):
            snapshot = self.take(share)  # which the replica never gets
            self.driver(old).write(old['id'], 'lost')
            self.act(replica, 'resync')
            self.admin.wait(self.path(replica), 'share_replica', 'out_of_sync', field='replica_state')
            self.assertEqual(403, self.act(replica, 'promote', caller=user))
            self.assertEqual(202, self.act(replica, 'promote'))
            self.assertEqual(replica['id'], self.active(share)['id'])
            self.assertTrue(self.holds(replica, 'kept'))
            self.assertEqual('error', self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')
            self.assertEqual((True, [('10.1.0.0/20', 'rw')]), self.rules(replica))
        self.act(old, 'resync')
        self.is_in_sync(old)
        self.assertEqual((True, (False, [])), (self.holds(old, 'kept'), self.rules(old)))
        self.assertEqual({old['id']: False, replica['id']: False}, self.read_only(share))
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.drop(share)

    def test_snapshots_are_exported_by_the_promoted_replica(self):
        share = self.make()
        kept = self.take(share)
        replica = self.replicate(share)
        with self.away('alpha'):
            lost = self.take(share)
            for snapshot in (kept, lost):
                path = f'/snapshots/{snapshot}'
                self.admin.ok(
                    'POST', f'{path}/action', {'allow_access': {'access_type': 'ip', 'access_to': '10.1.0.7'}}
                )
                base.eventually(
                    lambda path=path: self.states_of_rules(path) == ['active'], 'nobody is let in'
                )
            self.act(replica, 'promote')
            self.assertEqual(replica['id'], self.active(share)['id'])

        def mounted():
            record = self.store('beta').snapshots.get(kept)
            return record.exported, [rule[1:] for rule in record.rules.values()]

        base.eventually(lambda: mounted() == (True, [['10.1.0.7', 'ro']]), 'the snapshot is not served')
        self.assertEqual(
            [2, 0],
            [
                len(
                    self.admin.ok('GET', f'/snapshots/{snapshot}/export-locations')[
                        'share_snapshot_export_locations'
                    ]
                )
                for snapshot in (kept, lost)
            ],
        )
        for snapshot in (kept, lost):
            self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.drop(share)

    def states_of_rules(self, path):
        return [rule['state'] for rule in self.admin.ok('GET', f'{path}/access-list')['snapshot_access_list']]

    def promote_after(self, share, replica, call):
        """Promote the replica while the share's backend is in ``call``; check that the old one gives no access after that."""
        old = self.active(share)
        # It waits for no call that hangs for longer than a lease.
        self.service.conf.set_override('lease', waiting.LIMIT, 'operations')
        self.addCleanup(self.service.conf.clear_override, 'lease', 'operations')
        self.act(replica, 'promote')
        base.eventually(
            lambda: self.work_on(replica, share_replicas.PROMOTE).data.get('before'),
            f'it does not wait for {call}',
        )
        self.service.knob('alpha', '')
        self.assertEqual(replica['id'], self.active(share)['id'])
        self.is_in_sync(old)
        self.assertEqual((False, []), self.rules(old))

    def test_old_replica_has_no_access_rules_after_a_pending_rule_change(self):
        share = self.make()
        replica = self.replicate(share)
        self.service.knob('alpha', 'update_access:hang\n')
        told = len(self.calls('update_access'))
        self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.1.0.0/20'})
        base.eventually(lambda: len(self.calls('update_access')) > told, 'nobody is told')
        self.promote_after(share, replica, 'update_access')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')
        self.assertEqual((True, [('10.1.0.0/20', 'rw')]), self.rules(replica))
        self.drop(share)

    def test_old_replica_has_no_access_rules_after_an_ensure_run(self):
        share = self.make()
        self.grant(share)
        replica = self.replicate(share)
        self.service.knob('alpha', 'ensure_shares:hang\n')
        told = len(self.calls('ensure_shares'))
        with self.service.services.db.writer() as conn:
            wake = ensure.ask_once(conn, context.admin(self.service.services), 'test@alpha', 'start')
        wake.send(context.admin(self.service.services))
        base.eventually(lambda: len(self.calls('ensure_shares')) > told, 'nothing is ensured')
        self.promote_after(share, replica, 'ensure_shares')
        self.drop(share)

    def test_interrupted_promotion_is_retried(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)
        self.service.knob('beta', 'promote_replica:fail_after@once\n')
        self.assertEqual(202, self.act(replica, 'promote'))
        self.assertEqual(replica['id'], self.active(share)['id'])
        self.is_in_sync(old)
        self.drop(share)

    def test_failed_promotion_leaves_the_active_replica_in_place(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)
        self.grant(share)
        self.service.knob('beta', 'promote_replica:fail_final_after\n')
        self.assertEqual(202, self.act(replica, 'promote'))
        path = f'/messages?resource_id={replica["id"]}'
        base.eventually(lambda: self.admin.ok('GET', path)['messages'], 'nobody is told')
        self.assertEqual(
            ['004'], [message['action_id'] for message in self.admin.ok('GET', path)['messages']]
        )
        self.assertEqual(old['id'], self.active(share)['id'])
        base.eventually(lambda: self.rules(old) == (True, [('10.1.0.0/20', 'rw')]), 'it is not served')
        self.is_in_sync(replica)
        self.assertEqual((False, []), self.rules(replica))
        self.drop(share)

    def test_replica_of_a_share_in_error_can_be_promoted(self):
        share = self.make()
        old, replica = self.active(share), self.replicate(share)
        self.admin.action(share['id'], 'reset_status', {'status': 'error'})
        self.assertEqual(202, self.act(replica, 'promote'))
        self.assertEqual(replica['id'], self.active(share)['id'])
        self.is_in_sync(old)
        self.drop(share)
