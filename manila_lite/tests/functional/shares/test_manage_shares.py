# SPDX-License-Identifier: Apache-2.0
"""Existing shares and snapshots of a backend are managed, and unmanaged again."""

import dataclasses
import datetime
import logging

import fixtures as plain_fixtures
from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.db.queries import share_servers
from manila_lite.drivers.dummy.store import ShareRecord, SnapshotRecord
from manila_lite.tests.functional import base, served
from manila_lite.tests.functional.share_replicas import test_share_replicas
from manila_lite.tests.services import hearing

NOBODY = '00000000-0000-4000-8000-000000000000'


class Managing:
    """Mixin for tests with an ``admin`` and a service."""

    def store(self, backend='alpha'):
        return self.service.managers[backend].driver.store

    @property
    def name(self):
        return f'nas-{self.id().rpartition(".")[2]}'

    def there(self, backend='alpha', **changes):
        """Add a share at the backend that is not managed. Return its path."""
        name = self.name
        with self.store(backend).locked():
            self.store(backend).shares.put(
                dataclasses.replace(
                    ShareRecord(name, 'pool', 3, 'NFS', name, content='precious', ours=False), **changes
                )
            )
        return f'10.0.0.1:/shares/{name}'

    def ask(self, expected=200, caller=None, version=None, path='/shares/manage', **changes):
        """Ask to manage a share; return the share, or the fault."""
        body = {
            'service_host': 'test@alpha#pool',
            'protocol': 'nfs',
            'export_path': f'10.0.0.1:/shares/{self.name}',
        } | changes
        status, document, _ = (caller or self.admin).call('POST', path, {'share': body}, version=version)
        self.assertEqual(expected, status, document)
        return next(iter(document.values()))

    def managed(self, status='available', **changes):
        return self.admin.wait(f'/shares/{self.ask(**changes)["id"]}', 'share', status)

    def unmanage(self, resource_id, expected=202, version=None, collection='shares'):
        status, document, _ = self.admin.call(
            'POST', f'/{collection}/{resource_id}/action', {'unmanage': None}, version=version
        )
        self.assertEqual(expected, status, document)
        return next(iter(document.values())) if document else None

    def gone(self, share_id):
        self.admin.wait(f'/shares/{share_id}', 'share', 'gone')

    def exports(self, share_id):
        return [
            row['path']
            for row in self.admin.ok('GET', f'/shares/{share_id}/export_locations')['export_locations']
        ]

    def record(self, share, backend='alpha'):
        [instance] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        return self.store(backend).shares.get(instance['id'])

    def told(self, resource_id):
        return ' '.join(
            found['user_message']
            for found in self.admin.ok('GET', f'/messages?resource_id={resource_id}')['messages']
        )

    def fault(self, text, backend='alpha'):
        self.service.knob(backend, text)
        self.addCleanup(self.service.knob, backend, '')


class ManagedShares(Managing, base.ServiceTest):
    """Two backends without share servers."""

    BACKENDS = {'alpha': 'dummy_pools = pool\n', 'beta': 'dummy_pools = pool\n'}

    def setUp(self):
        super().setUp()
        self.admin = self.caller(uuidutils.generate_uuid(), roles='admin,member,reader')
        for backend in self.BACKENDS:
            self.addCleanup(self.clean, backend)

    def clean(self, backend):
        """Remove unmanaged shares and snapshots from the backend."""
        with self.store(backend).locked():
            for records in (self.store(backend).shares, self.store(backend).snapshots):
                for record in records.all():
                    if not record.ours:
                        records.drop(record.id)

    def take_snapshot(self, share_id):
        snapshot_id = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share_id}})['snapshot'][
            'id'
        ]
        return self.admin.wait(f'/snapshots/{snapshot_id}', 'snapshot', 'available')

    def ask_snapshot(self, share_id, location, expected=202, version=None, **more):
        status, document, _ = self.admin.call(
            'POST',
            '/snapshots/manage',
            {'snapshot': {'share_id': share_id, 'provider_location': location, **more}},
            version=version,
        )
        self.assertEqual(expected, status, document)
        return next(iter(document.values()))

    def used(self):
        found = self.admin.ok('GET', '/limits')['limits']['absolute']
        return [found[f'total{name}Used'] for name in ('Shares', 'ShareGigabytes', 'ShareSnapshots')]

    def test_existing_share_is_managed_used_and_unmanaged_with_its_data(self):
        path = self.there()
        asked = self.ask(name='mine', description='was theirs', driver_options={'hint': 1, 'none': None})
        self.assertEqual(
            ('manage_starting', 0, 'mine', 'NFS', 'test@alpha#pool'),
            tuple(asked[key] for key in ('status', 'size', 'name', 'share_proto', 'host')),
        )
        share = self.admin.wait(f'/shares/{asked["id"]}', 'share', 'available')
        self.assertEqual((3, '100%'), (share['size'], share['progress']))
        self.assertIn(path, self.exports(share['id']))
        self.assertEqual([1, 3, 0], self.used())
        self.assertEqual('precious', self.record(share).content)
        self.assertIsNone(self.store().shares.get(self.name))
        self.assertEqual(
            200,
            self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.9'})[0],
        )
        base.eventually(lambda: self.record(share).rules, 'the rule is not in force')
        held = self.record(share).id
        self.unmanage(share['id'])
        self.gone(share['id'])
        left = self.store().shares.get(held)
        self.assertEqual((False, False, {}, 'precious'), (left.ours, left.exported, left.rules, left.content))
        self.assertEqual([0, 0, 0], self.used())
        again = self.managed()
        self.assertNotEqual(share['id'], again['id'])
        self.assertEqual('precious', self.record(again).content)

    def test_created_share_and_snapshot_are_unmanaged_and_managed_again(self):
        share = self.admin.share(size=2)
        host = share['host']
        backend = host[5:].partition('#')[0]
        [path, *_] = self.exports(share['id'])
        self.assertEqual(
            'share_already_managed', self.ask(409, service_host=host, export_path=path)['reason']
        )
        snapshot = self.take_snapshot(share['id'])
        self.assertEqual('share_has_snapshots', self.unmanage(share['id'], 403)['reason'])
        location = self.admin.ok('GET', f'/snapshots/{snapshot["id"]}')['snapshot']['provider_location']
        self.assertEqual('snapshot_already_managed', self.ask_snapshot(share['id'], location, 409)['reason'])
        self.unmanage(snapshot['id'], collection='snapshots')
        self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'gone')
        self.assertFalse(self.store(backend).snapshots.get(snapshot['id']).ours)
        self.unmanage(share['id'])
        self.gone(share['id'])
        back = self.managed(service_host=host, export_path=path)
        self.assertEqual((2, path), (back['size'], self.exports(back['id'])[0]))
        asked = self.ask_snapshot(back['id'], location, name='found', driver_options={'a': 'b'})
        self.assertEqual(
            ('manage_starting', 'found', location),
            (asked['status'], asked['name'], asked['provider_location']),
        )
        known = self.admin.wait(f'/snapshots/{asked["id"]}', 'snapshot', 'available')
        self.assertEqual((2, location), (known['size'], known['provider_location']))
        self.assertEqual([1, 2, 1], self.used())
        clone = self.admin.share(size=2, snapshot_id=known['id'])
        self.assertEqual(back['share_type'], clone['share_type'])

    def test_missing_share_becomes_manage_error_with_advice(self):
        share = self.managed('manage_error')
        self.assertIn('no share at 10.0.0.1:/shares/nas-', self.told(share['id']))
        self.assertIn('manage it again', self.told(share['id']))
        self.assertEqual(403, self.admin.call('DELETE', f'/shares/{share["id"]}')[0])
        path = self.there()
        better = self.managed()  # the share in manage_error does not block the path
        self.assertIn(path, self.exports(better['id']))
        self.unmanage(share['id'])
        self.gone(share['id'])
        self.assertEqual('precious', self.record(better).content)

    def test_share_of_another_protocol_becomes_manage_error_and_is_unmanaged(self):
        path = self.there()
        share = self.managed('manage_error', protocol='maprfs')
        self.assertEqual('MAPRFS', share['share_proto'])
        self.assertIn(f'The share at {path} is a NFS share', self.told(share['id']))
        self.unmanage(share['id'])
        self.gone(share['id'])
        self.assertIn(path, self.exports(self.managed()['id']))

    def test_path_is_given_in_each_form_of_export_locations(self):
        path = self.there()
        for form in (
            [path, '10.0.0.2:/other'],
            {'path': path},
            [{'path': path, 'preferred': True, 'id': NOBODY}],
        ):
            for version, call in (('2.6', '/os-share-manage'), (None, '/shares/manage')):
                share = self.managed(export_path=form, version=version, path=call)
                self.assertIn(path, self.exports(share['id']))
                self.assertEqual('share_already_managed', self.ask(409, export_path=form)['reason'])
                self.unmanage(share['id'])
                self.gone(share['id'])
        for form in ({}, [{}], [1], 1, [[path]], {'path': None}, {'path': ''}):
            self.assertIn('export_path', self.ask(400, export_path=form)['message'])
        self.assertIn('export_path', self.ask(422, export_path=[])['message'])

    def test_share_in_manage_error_is_deleted_by_force_and_its_data_is_kept(self):
        self.there(pool='another')
        share = self.managed('manage_error')
        self.assertEqual(202, self.admin.action(share['id'], 'force_delete')[0])
        self.gone(share['id'])
        self.assertEqual('precious', self.store().shares.get(self.name).content)

    def test_share_is_released_if_the_backend_fails_after_managing_it(self):
        path = self.there()
        self.fault('manage_share:fail_final_after')
        share = self.managed('manage_error')
        self.service.knob('alpha', '')
        [left] = [record for record in self.store().shares.all() if record.path == self.name]
        self.assertFalse(left.ours)
        self.assertIn(path, self.exports(self.managed()['id']))
        self.unmanage(share['id'])
        self.gone(share['id'])

    def test_unmanage_that_fails_at_the_backend_can_be_repeated(self):
        share = self.admin.share(share_type=None)
        backend = share['host'][5:].partition('#')[0]
        self.fault('unmanage_share:fail_final', backend)
        self.unmanage(share['id'])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'unmanage_error')
        self.assertIn('unmanage it again', self.told(share['id']))
        self.service.knob(backend, '')
        self.unmanage(share['id'])
        self.gone(share['id'])

    def test_other_requests_are_refused_during_unmanage(self):
        share = self.admin.share()
        backend = share['host'][5:].partition('#')[0]
        self.fault('unmanage_share:hang', backend)
        self.unmanage(share['id'])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'unmanage_starting')
        self.assertEqual('wrong_state', self.unmanage(share['id'], 403)['reason'])
        for action, body in (
            ('extend', {'new_size': 2}),
            ('allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1'}),
        ):
            self.assertIn(self.admin.action(share['id'], action, body)[0], (400, 403, 409))
        self.assertEqual(202, self.admin.action(share['id'], 'reset_status', {'status': 'available'})[0])
        self.service.knob(backend, '')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_unmanage_of_a_locked_share_is_refused(self):
        share = self.admin.share()
        self.admin.ok(
            'POST',
            '/resource-locks',
            {'resource_lock': {'resource_id': share['id'], 'resource_type': 'share'}},
        )
        self.assertEqual('share_locked', self.unmanage(share['id'], 403)['reason'])
        self.assertEqual('available', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['status'])

    def test_over_quota_is_logged_and_allowed(self):
        self.there()
        log = self.useFixture(plain_fixtures.FakeLogger(level=logging.WARNING))
        self.admin.ok('PUT', f'/quota-sets/{self.admin.token.split(":")[1]}', {'quota_set': {'gigabytes': 1}})
        share = self.managed()
        self.assertEqual(3, share['size'])
        self.assertIn('the quota is exceeded', log.output)

    def test_managing_up_to_the_quota_logs_nothing(self):
        self.there()
        usage = self.admin.ok('GET', f'/quota-sets/{self.admin.token.split(":")[1]}/detail')['quota_set']
        self.admin.ok(
            'PUT',
            f'/quota-sets/{self.admin.token.split(":")[1]}',
            {
                'quota_set': {
                    'shares': usage['shares']['in_use'] + 1,
                    'gigabytes': usage['gigabytes']['in_use'] + 3,
                }
            },
        )
        log = self.useFixture(plain_fixtures.FakeLogger(level=logging.WARNING))
        self.managed()
        self.assertNotIn('quota', log.output)

    def test_each_action_sends_notifications(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        path = self.there()
        share = self.managed()
        self.unmanage(share['id'])
        self.gone(share['id'])
        for event in ('manage.start', 'manage.end', 'unmanage.start', 'unmanage.end'):
            told = heard.wait(f'share.{event}', share_id=share['id'])['payload']
            self.assertTrue(told['host'].startswith('test@alpha'))
        self.assertEqual(
            (path, 3),
            tuple(
                heard.wait('share.manage.end', share_id=share['id'])['payload'][key]
                for key in ('export_path', 'size')
            ),
        )
        failed = self.managed('manage_error', export_path='10.0.0.1:/shares/none')
        self.assertIn(
            'no share at', heard.wait('share.manage.error', share_id=failed['id'])['payload']['error']
        )

    def test_unsuitable_share_types_are_refused(self):
        self.there()
        for specs in (
            {'driver_handles_share_servers': 'True'},
            {'driver_handles_share_servers': 'False', 'vendor_name': 'another'},
            {'driver_handles_share_servers': 'False', 'availability_zones': 'elsewhere'},
        ):
            name = uuidutils.generate_uuid()
            self.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': specs}})
            self.assertEqual('share_type_unfit', self.ask(400, share_type=name)['reason'])
        self.ask(404, share_type='no such type')

    def test_invalid_hosts_and_missing_fields_are_refused(self):
        self.assertEqual('service_not_found', self.ask(404, service_host='test@gamma#pool')['reason'])
        self.assertEqual('pool_not_found', self.ask(400, service_host='test@alpha#lake')['reason'])
        self.ask(400, service_host='test@alpha')
        for field in ('service_host', 'protocol', 'export_path'):
            self.assertIn(field, self.ask(422, **{field: None})['message'])
        self.assertIn('protocol', self.ask(400, protocol='N F S')['message'])
        self.ask(400, share_server_id=NOBODY)

    def test_old_names(self):
        self.there()
        share = self.ask(version='2.6', path='/os-share-manage')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.assertEqual(404, self.admin.call('POST', '/os-share-manage', {}, version='2.7')[0])
        path = f'/os-share-unmanage/{share["id"]}/unmanage'
        self.assertEqual(404, self.admin.call('POST', path, version='2.7')[0])
        self.assertEqual(202, self.admin.call('POST', path, version='2.6')[0])
        self.gone(share['id'])

    def test_unmanage_behaves_the_same_at_each_version(self):
        for version in ('2.7', '2.48', '2.49'):
            self.there()
            share = self.managed()
            self.assertIsNone(self.unmanage(share['id'], version=version))
            self.gone(share['id'])
            self.clean('alpha')

    def test_managing_and_unmanaging_by_members_are_refused(self):
        self.there()
        user = self.caller('p')
        self.ask(403, user)
        share = user.share()
        self.assertEqual(403, user.action(share['id'], 'unmanage')[0])
        for path in ('', '/detail', f'/{NOBODY}', f'/{NOBODY}/export-locations'):
            self.assertEqual(403, user.call('GET', f'/snapshot-instances{path}')[0])

    def test_mount_point_name_is_applied_if_it_is_supported_and_free(self):
        self.there()
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'pointed',
                    'extra_specs': {
                        'driver_handles_share_servers': 'False',
                        'mount_point_name_support': '<is> True',
                        'provisioning:mount_point_prefix': 'much',
                    },
                }
            },
        )
        early = self.managed(version='2.91', mount_point_name='ignored', share_type='pointed')
        self.assertNotIn('ignored', str(self.exports(early['id'])))
        self.unmanage(early['id'])
        self.gone(early['id'])
        self.clean('alpha')
        self.there()
        share = self.managed(mount_point_name='better', share_type='pointed')
        self.assertIn('10.0.0.1:/shares/much_better', self.exports(share['id']))
        self.assertEqual('mount_point_name_not_supported', self.ask(400, mount_point_name='other')['reason'])
        self.assertEqual(
            'mount_point_name_exists',
            self.ask(409, mount_point_name='better', share_type='pointed')['reason'],
        )
        self.unmanage(share['id'])
        self.gone(share['id'])
        self.managed(export_path='10.0.0.1:/shares/much_better')

    def test_mount_point_name_begins_with_the_project_if_the_type_has_no_prefix(self):
        self.there()
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'of projects',
                    'extra_specs': {
                        'driver_handles_share_servers': 'False',
                        'mount_point_name_support': '<is> True',
                    },
                }
            },
        )
        share = self.managed(mount_point_name='mine', share_type='of projects')
        self.assertIn(f'10.0.0.1:/shares/{share["project_id"]}_mine', self.exports(share['id']))

    def test_missing_and_foreign_snapshots_become_manage_error(self):
        self.there()
        share = self.managed()
        with self.store().locked():
            self.store().snapshots.put(SnapshotRecord('foreign', 'other', 1, '', 0.0, ours=False))
        for location, why in (('/snapshots/none', 'no snapshot'), ('/snapshots/foreign', 'of another share')):
            snapshot = self.ask_snapshot(share['id'], location)
            self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'manage_error')
            self.assertIn(why, self.told(snapshot['id']))
            self.unmanage(snapshot['id'], collection='snapshots')
            self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'gone')
        self.ask_snapshot(None, '/x', 422)
        self.ask_snapshot(NOBODY, '/x', 404)
        self.ask_snapshot(share['id'], '/x', 404, version='2.11')

    def test_snapshot_instances_are_listed_shown_and_reset(self):
        share = self.admin.share()
        snapshot = self.take_snapshot(share['id'])
        [instance] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        path = f'/snapshot-instances?snapshot_id={snapshot["id"]}'
        [listed] = self.admin.ok('GET', path)['snapshot_instances']
        self.assertEqual({'id': listed['id'], 'snapshot_id': snapshot['id'], 'status': 'available'}, listed)
        [shown] = self.admin.ok('GET', path.replace('?', '/detail?'))['snapshot_instances']
        self.assertEqual(
            shown, self.admin.ok('GET', f'/snapshot-instances/{listed["id"]}')['snapshot_instance']
        )
        self.assertEqual(
            (share['id'], instance['id'], '100%', f'/snapshots/{snapshot["id"]}'),
            tuple(shown[key] for key in ('share_id', 'share_instance_id', 'progress', 'provider_location')),
        )
        action = f'/snapshot-instances/{listed["id"]}/action'
        self.assertEqual(400, self.admin.call('POST', action, {'reset_status': {'status': 'odd'}})[0])
        self.assertEqual(202, self.admin.call('POST', action, {'reset_status': {'status': 'error'}})[0])
        self.assertEqual(
            [listed | {'status': 'error'}], self.admin.ok('GET', f'{path}&status=error')['snapshot_instances']
        )
        exports = f'/snapshot-instances/{listed["id"]}/export-locations'
        there, here = (
            [
                (place['id'], place['path'])
                for place in self.admin.ok('GET', at)['share_snapshot_export_locations']
            ]
            for at in (f'/snapshots/{snapshot["id"]}/export-locations', exports)
        )
        self.assertEqual(there, here)
        self.assertNotEqual([], here)
        self.assertEqual(404, self.admin.call('GET', f'{exports}/{NOBODY}')[0])
        self.assertEqual(404, self.admin.call('GET', f'/snapshot-instances/{NOBODY}')[0])
        self.assertEqual(404, self.admin.call('GET', '/snapshot-instances', version='2.18')[0])


class ManagedServedShares(Managing, served.ServedTest):
    """A backend that makes share servers."""

    def setUp(self):
        super().setUp()
        self.network_id = self.network()
        self.mine = self.share(self.network_id)
        [self.server] = self.servers(self.network_id)
        self.host = self.admin.ok('GET', f'/shares/{self.mine["id"]}')['share']['host']

    def test_unmanaged_share_is_managed_again_on_its_share_server(self):
        [path, *_] = self.exports(self.mine['id'])
        held = self.record(self.mine).id
        self.unmanage(self.mine['id'], 403, version='2.48')
        self.unmanage(self.mine['id'])
        self.gone(self.mine['id'])
        with self.service.services.db.reader() as conn:
            self.assertFalse(share_servers.get(conn, self.server.id).is_auto_deletable)
        self.assertEqual(
            (False, None), (self.store().shares.get(held).ours, self.store().shares.get(held).server)
        )
        asks = {'service_host': self.host, 'export_path': path, 'share_type': 'served'}
        self.ask(400, **asks)
        self.ask(400, version='2.48', share_server_id=self.server.id, **asks)
        self.assertEqual('bad_share_server', self.ask(400, share_server_id=NOBODY, **asks)['reason'])
        back = self.managed(share_server_id=self.server.id, **asks)
        self.assertEqual(
            (self.server.id, self.network_id), (back['share_server_id'], back['share_network_id'])
        )
        self.assertEqual(self.server.id, self.record(back).server)
        self.assertEqual([path], self.exports(back['id'])[:1])

    def test_share_server_counts_as_used_until_unmanage_ends(self):
        self.fault('unmanage_share:hang')
        self.unmanage(self.mine['id'])
        yesterday, table = timeutils.utcnow() - datetime.timedelta(days=1), models.share_servers
        with self.service.services.db.writer() as conn:
            conn.execute(table.update().where(table.c.id == self.server.id).values(updated_at=yesterday))
        self.service.knob('alpha', '')
        self.gone(self.mine['id'])
        with self.service.services.db.reader() as conn:
            self.assertGreater(share_servers.get(conn, self.server.id).updated_at, yesterday)


class ManagedSnapshots(test_share_replicas.Replicating):
    """Backends whose shares have replicas."""

    def test_managing_snapshots_of_a_share_with_replicas_is_refused(self):
        """Check the refusal: a replica that is promoted then would keep an unmanaged snapshot, or lack a managed one."""
        share = self.make()
        snapshot, replica = self.take(share), self.replicate(share)
        place = self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['provider_location']
        for path, body in (
            (f'/snapshots/{snapshot}/action', {'unmanage': None}),
            ('/snapshots/manage', {'snapshot': {'share_id': share['id'], 'provider_location': place}}),
        ):
            status, document, _ = self.admin.call('POST', path, body)
            self.assertEqual((409, 'share_has_replicas'), (status, document['conflictingRequest']['reason']))
        self.assertEqual('available', self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])
        self.admin.ok('DELETE', self.path(replica))
        self.assertEqual(202, self.admin.call('POST', f'/snapshots/{snapshot}/action', {'unmanage': None})[0])
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'gone')
