# SPDX-License-Identifier: Apache-2.0
"""Isolation of a share before, during and after its transfer."""

from manila_lite.api import versions
from manila_lite.tests import hush
from manila_lite.tests.functional import walking

#: Past operations stay with their project, also on a share that was transferred.
_HISTORY = {'operations.index'}


class Transferred(walking.WalkTest):
    def setUp(self):
        super().setUp()
        share = self.owner.share(name=walking.MARK, metadata={'key': walking.MARK})
        path = f'/shares/{share["id"]}'
        snapshot = self.owner.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        self.owner.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        rule = self.owner.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.9.8.7'})[
            1
        ]['access']
        self.owner.wait(f'/share-access-rules/{rule["id"]}', 'access', 'active', field='state')
        exports = self.owner.ok('GET', f'{path}/export_locations')['export_locations']
        operation = self.owner.ok('GET', f'/operations?resource_id={share["id"]}')['operations'][0]
        self.thing = {
            'share_id': share['id'],
            'snapshot_id': snapshot['id'],
            'access_id': rule['id'],
            'export_location_id': exports[0]['id'],
            'operation_id': operation['id'],
        }

    def nothing_for(self, caller, own, thing, but=()):
        """Check that the share and its parts are unknown to callers that do not own it."""
        for op in self.ops():
            for name in walking.named(op) & thing.keys():

                def ask(resource_id, op=op, name=name):
                    return self.call(caller, op, versions.MAX, {**own, name: resource_id})

                status = self.assert_as_if_unknown(ask, thing[name], (op.name, op.action, name))
                self.assertIn(status, (403, 404), (op.name, op.action, name))
        for op in [op for op in self.lists() if op.name not in but]:
            said = str(self.call(caller, op, versions.MAX, own)[1])
            self.assertEqual(
                [], [name for name, resource_id in thing.items() if resource_id in said], op.name
            )

    def all_for(self, caller, thing):
        share = caller.ok('GET', f'/shares/{thing["share_id"]}')['share']
        caller.ok('GET', f'/snapshots/{thing["snapshot_id"]}')
        caller.ok('GET', f'/share-access-rules/{thing["access_id"]}')
        return share['status']

    def test_only_the_present_owner_sees_a_transferred_share(self):
        self.nothing_for(self.stranger, self.own, self.thing)
        transfer = self.owner.ok(
            'POST', '/share-transfers', {'transfer': {'share_id': self.thing['share_id']}}
        )['transfer']
        hush.keep(transfer['auth_key'])
        self.nothing_for(self.stranger, self.own, self.thing)
        self.nothing_for(self.caller('second', 'rita', 'reader'), self.own, self.thing)
        self.assertEqual('awaiting_transfer', self.all_for(self.owner, self.thing))
        path = f'/share-transfers/{transfer["id"]}'
        self.assertEqual(404, self.stranger.call('GET', path)[0])
        self.assertEqual(404, self.stranger.call('DELETE', path)[0])
        self.assertEqual(
            202,
            self.stranger.call('POST', f'{path}/accept', {'accept': {'auth_key': transfer['auth_key']}})[0],
        )
        self.assertEqual('available', self.all_for(self.stranger, self.thing))
        done = {name: resource_id for name, resource_id in self.thing.items() if name != 'operation_id'}
        self.nothing_for(self.owner, self.world, done, _HISTORY)
        for roles in ('member,reader', 'reader', 'manager,member,reader'):
            self.nothing_for(self.caller('third', 'thea', roles), self.own, self.thing)
