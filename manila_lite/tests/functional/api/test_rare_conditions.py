# SPDX-License-Identifier: Apache-2.0
"""Conditions that few requests meet. The removal of each one went unnoticed by all other tests."""

import datetime

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.scheduler import expiry
from manila_lite.tests import hush
from manila_lite.tests.functional.base import ServiceTest


class BordersTest(ServiceTest):
    """Base class with shortcuts to snapshots and transfers."""

    def snapshot(self, caller, share):
        made = caller.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        return caller.wait(f'/snapshots/{made["id"]}', 'snapshot', 'available')

    def offered(self, caller, share):
        transfer = caller.ok('POST', '/share-transfers', {'transfer': {'share_id': share['id']}})['transfer']
        hush.keep(transfer['auth_key'])
        return transfer

    def accept(self, caller, transfer):
        return caller.call(
            'POST',
            f'/share-transfers/{transfer["id"]}/accept',
            {'accept': {'auth_key': transfer['auth_key']}},
        )[:2]


class Snapshots(BordersTest):
    def test_snapshot_of_a_public_share_of_another_project_is_refused(self):
        owner, stranger = self.caller('first'), self.caller('second')
        share = owner.share()
        self.admin.ok('PUT', f'/shares/{share["id"]}', {'share': {'is_public': True}})
        stranger.ok('GET', f'/shares/{share["id"]}')
        status, document, _ = stranger.call('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})
        self.assertEqual(403, status, document)
        self.assertEqual('share_of_another_project', document['forbidden']['reason'])
        for caller in (owner, stranger):
            self.assertEqual([], caller.ok('GET', f'/snapshots?share_id={share["id"]}')['snapshots'])

    def test_revert_is_refused_except_to_the_latest_snapshot(self):
        caller = self.caller('back')
        share = caller.share()
        older, latest = self.snapshot(caller, share), self.snapshot(caller, share)
        # The times must differ, whatever the resolution of the clock.
        with self.service.services.db.writer() as conn:
            table = models.snapshots
            conn.execute(
                table.update()
                .where(table.c.id == older['id'])
                .values(created_at=timeutils.utcnow() - datetime.timedelta(hours=1))
            )
        status, document, _ = caller.action(share['id'], 'revert', {'snapshot_id': older['id']})
        self.assertEqual(409, status, document)
        self.assertIn('only the latest snapshot', document['conflictingRequest']['message'])
        self.assertEqual('available', caller.ok('GET', f'/shares/{share["id"]}')['share']['status'])
        self.assertEqual(202, caller.action(share['id'], 'revert', {'snapshot_id': latest['id']})[0])
        caller.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_revert_restores_the_size_in_the_database_and_at_the_backend(self):
        caller, store = self.caller('back'), self.service.managers['alpha'].driver.store
        share = caller.share()
        [instance] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        latest = self.snapshot(caller, share)
        sizes = []
        for action, body in (('extend', {'new_size': 3}), ('revert', {'snapshot_id': latest['id']})):
            self.assertEqual(202, caller.action(share['id'], action, body)[0])
            shown = caller.wait(f'/shares/{share["id"]}', 'share', 'available')
            sizes.append((shown['size'], store.share(instance['id']).size))
        self.assertEqual([(3, 3), (1, 1)], sizes)


class Transfers(BordersTest):
    """Expired transfers are not collected: a scheduler does that when it starts, too, in a thread that may be late."""

    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(setattr, expiry, 'end_transfers', expiry.end_transfers)
        expiry.end_transfers = lambda services: None
        super().setUpClass()

    def test_expired_transfer_is_refused_before_it_is_collected(self):
        giver, taker = self.caller('giver'), self.caller('taker')
        share = giver.share()
        transfer = self.offered(giver, share)
        table = models.share_transfers
        with self.service.services.db.writer() as conn:
            conn.execute(
                table.update()
                .where(table.c.id == transfer['id'])
                .values(expires_at=timeutils.utcnow() - datetime.timedelta(seconds=1))
            )
        status, document = self.accept(taker, transfer)
        self.assertEqual(404, status, document)
        self.assertEqual('transfer_not_found', document['itemNotFound']['reason'])
        self.assertEqual('awaiting_transfer', giver.ok('GET', f'/shares/{share["id"]}')['share']['status'])
        giver.ok('GET', f'/share-transfers/{transfer["id"]}')

    def test_snapshots_of_a_transferred_share_count_in_the_new_owners_quota(self):
        giver, taker = self.caller('giver'), self.caller('short')
        share = giver.share(size=2)
        for _ in range(2):
            self.snapshot(giver, share)
        before = self.used(giver)
        transfer = self.offered(giver, share)
        self.admin.ok('PUT', '/quota-sets/short', {'quota_set': {'snapshot_gigabytes': 3}})
        self.refused(taker, transfer, 'over_quota_snapshot_gigabytes')
        self.assertEqual((0, 0), self.used(taker))
        self.admin.ok('PUT', '/quota-sets/short', {'quota_set': {'snapshot_gigabytes': 4, 'snapshots': 1}})
        self.refused(taker, transfer, 'over_quota_snapshots')
        self.admin.ok('PUT', '/quota-sets/short', {'quota_set': {'snapshots': 2}})
        self.assertEqual(202, self.accept(taker, transfer)[0])
        self.assertEqual((2, 4), self.used(taker))
        self.assertEqual((before[0] - 2, before[1] - 4), self.used(giver))

    def refused(self, taker, transfer, why):
        status, document = self.accept(taker, transfer)
        self.assertEqual(413, status, (document, why))
        self.assertEqual(why, document['overLimit']['reason'])

    def used(self, caller):
        found = caller.ok('GET', '/limits')['limits']['absolute']
        return found['totalShareSnapshotsUsed'], found['totalSnapshotGigabytesUsed']
