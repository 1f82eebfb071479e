# SPDX-License-Identifier: Apache-2.0
"""Transfers of shares: stored keys, notifications, expiry, and the parts of a share that change project."""

import datetime

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.tests import hush
from manila_lite.tests.functional.base import ServiceTest, eventually
from manila_lite.tests.services import hearing


class Transfers(ServiceTest):
    """A service that looks for expired transfers every 0.1 seconds."""

    EXTRA = 'check_for_expired_transfers = 0.1\n'

    def offered(self, caller, **values):
        share = caller.share(**values)
        transfer = caller.ok('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})['transfer']
        hush.keep(transfer['auth_key'])
        return share, transfer

    def accept(self, caller, transfer, **more):
        return caller.call(
            'POST',
            f'/share-transfers/{transfer["id"]}/accept',
            {'accept': {'auth_key': transfer['auth_key'], **more}},
        )

    def rows(self, table, **values):
        with self.service.services.db.reader() as conn:
            return list(
                conn.execute(
                    table.select().where(*(table.c[name] == value for name, value in values.items()))
                )
            )

    def expire(self, transfer):
        table = models.share_transfers
        with self.service.services.db.writer() as conn:
            conn.execute(
                table.update()
                .where(table.c.id == transfer['id'])
                .values(expires_at=timeutils.utcnow() - datetime.timedelta(seconds=1))
            )

    def test_the_key_is_not_stored(self):
        _, transfer = self.offered(self.caller('giver'))
        (row,) = self.rows(models.share_transfers, id=transfer['id'])
        self.assertNotIn(transfer['auth_key'], ' '.join(str(value) for value in row))
        _, other = self.offered(self.caller('giver'))
        self.assertNotEqual(row.salt, self.rows(models.share_transfers, id=other['id'])[0].salt)

    def test_notifications_are_sent_without_the_key(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        giver = self.caller('giver')
        share, transfer = self.offered(giver)
        self.assertEqual(202, self.accept(self.caller('taker'), transfer)[0])
        about = {'transfer_id': transfer['id'], 'share_id': share['id'], 'source_project_id': 'giver'}
        for event, project in (('create', 'giver'), ('accept', 'taker')):
            self.assertEqual(project, heard.wait(f'share.transfer.{event}', **about)['payload']['project_id'])
        self.assertNotIn(transfer['auth_key'], str(heard.events))
        _, other = self.offered(giver)
        giver.ok('DELETE', f'/share-transfers/{other["id"]}')
        heard.wait('share.transfer.delete', transfer_id=other['id'])
        for event, status in (('soft_delete', 202), ('restore', 202)):
            self.assertEqual(status, giver.action(other['resource_id'], event)[0])
            heard.wait(f'share.{event}', share_id=other['resource_id'], owner='giver', size=1)

    def test_transfer_ends_when_it_expires(self):
        giver = self.caller('giver')
        share, transfer = self.offered(giver)
        self.expire(transfer)
        giver.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.assertEqual(404, giver.call('GET', f'/share-transfers/{transfer["id"]}')[0])
        self.assertEqual(404, self.accept(self.caller('taker'), transfer)[0])

    def test_accept_keeps_snapshots_rules_and_exports_and_removes_locks(self):
        giver, taker = self.caller('giver'), self.caller('heir')
        share = giver.share(size=2)
        path = f'/shares/{share["id"]}'
        snapshot = giver.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        giver.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        rule = giver.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.9'})[1][
            'access'
        ]
        giver.wait(f'/share-access-rules/{rule["id"]}', 'access', 'active', field='state')
        giver.ok(
            'POST',
            '/resource-locks',
            {'resource_lock': {'resource_id': share['id'], 'resource_type': 'share'}},
        )
        exports = giver.ok('GET', f'{path}/export_locations')['export_locations']
        transfer = giver.ok('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})['transfer']
        self.assertEqual(202, self.accept(taker, transfer)[0])
        self.assertEqual('heir', taker.ok('GET', f'/snapshots/{snapshot["id"]}')['snapshot']['project_id'])
        self.assertEqual(404, giver.call('GET', f'/snapshots/{snapshot["id"]}')[0])
        used = taker.ok('GET', '/limits')['limits']['absolute']
        self.assertEqual((1, 2), (used['totalShareSnapshotsUsed'], used['totalSnapshotGigabytesUsed']))
        self.assertEqual(
            [rule['id']],
            [
                found['id']
                for found in taker.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']
            ],
        )
        self.assertEqual(exports, taker.ok('GET', f'{path}/export_locations')['export_locations'])
        self.assertEqual([], self.rows(models.resource_locks, share_id=share['id']))
        self.assertEqual(202, taker.call('DELETE', f'/snapshots/{snapshot["id"]}')[0])
        taker.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'gone')
        self.assertEqual(202, taker.call('DELETE', path)[0])
        taker.wait(path, 'share', 'gone')

    def test_open_work_on_rules_goes_with_the_share(self):
        giver, taker = self.caller('giver'), self.caller('taker')
        share = giver.share()
        self.service.knob('alpha', 'update_access:hang')
        self.addCleanup(self.service.knob, 'alpha', '')
        giver.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '192.0.2.1'})
        transfer = giver.ok('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})['transfer']
        hush.keep(transfer['auth_key'])
        self.assertEqual(202, self.accept(taker, transfer)[0])
        path = f'/operations?resource_id={share["id"]}&state=open'
        self.assertEqual(
            ([], ['access.sync']),
            tuple([one['kind'] for one in caller.ok('GET', path)['operations']] for caller in (giver, taker)),
        )

    def test_accept_with_clear_access_rules_clears_rules_of_snapshots(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'mounting',
                    'extra_specs': {
                        'driver_handles_share_servers': 'False',
                        'snapshot_support': 'True',
                        'mount_snapshot_support': 'True',
                    },
                }
            },
        )
        giver, taker = self.caller('opener'), self.caller('closer')
        share = giver.share(share_type='mounting')
        snapshot = giver.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']['id']
        giver.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        giver.ok(
            'POST',
            f'/snapshots/{snapshot}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.9'}},
        )
        transfer = giver.ok('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})['transfer']
        hush.keep(transfer['auth_key'])
        self.assertEqual(202, self.accept(taker, transfer, clear_access_rules=True)[0])
        path = f'/snapshots/{snapshot}/access-list'
        eventually(lambda: not taker.ok('GET', path)['snapshot_access_list'], 'the giver mounts the snapshot')
        self.assertEqual({}, self.service.managers['alpha'].driver.store.snapshot(snapshot).rules)

    def test_accept_over_the_encryption_key_quota_is_refused(self):
        giver, taker = self.caller('locker'), self.caller('unlocker')
        share, transfer = self.offered(giver)
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.shares.update()
                .where(models.shares.c.id == share['id'])
                .values(encryption_key_ref='1b2c3d4e-0000-4000-8000-000000000000')
            )
        self.admin.ok('PUT', '/quota-sets/unlocker', {'quota_set': {'encryption_keys': 0}})
        status, document, _ = self.accept(taker, transfer)
        self.assertEqual((413, 'over_quota_encryption_keys'), (status, document['overLimit']['reason']))
        self.admin.ok('PUT', '/quota-sets/unlocker', {'quota_set': {'encryption_keys': 1}})
        self.assertEqual(202, self.accept(taker, transfer)[0])

    def test_accept_without_access_to_the_share_type_is_refused(self):
        kind = self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'ours',
                    'share_type_access:is_public': False,
                    'extra_specs': {'driver_handles_share_servers': 'False'},
                }
            },
        )['share_type']
        self.admin.call('POST', f'/types/{kind["id"]}/action', {'addProjectAccess': {'project': 'giver'}})
        _, transfer = self.offered(self.caller('giver'), share_type='ours')
        status, document, _ = self.accept(self.caller('taker'), transfer)
        self.assertEqual((400, 'share_type_not_accessible'), (status, document['badRequest']['reason']))
        self.admin.call('POST', f'/types/{kind["id"]}/action', {'addProjectAccess': {'project': 'taker'}})
        self.assertEqual(202, self.accept(self.caller('taker'), transfer)[0])

    def test_share_with_a_snapshot_in_error_cannot_be_transferred(self):
        giver = self.caller('giver')
        share = giver.share()
        snapshot = giver.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        giver.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.admin.ok('POST', f'/snapshots/{snapshot["id"]}/action', {'reset_status': {'status': 'error'}})
        self.assertEqual(
            400, giver.call('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})[0]
        )
        self.assertEqual('available', giver.ok('GET', f'/shares/{share["id"]}')['share']['status'])

    def test_status_reset_of_the_share_ends_the_transfer(self):
        giver = self.caller('giver')
        share, transfer = self.offered(giver)
        self.assertEqual(202, self.admin.action(share['id'], 'reset_status', {'status': 'available'})[0])
        self.assertEqual(404, self.accept(self.caller('taker'), transfer)[0])
        self.assertEqual('giver', giver.ok('GET', f'/shares/{share["id"]}')['share']['project_id'])
