# SPDX-License-Identifier: Apache-2.0
"""A schedule on CephFS: the cluster takes the snapshots and lets old ones go, and a share is made from a kept one."""

from manila_lite.tests.functional.ceph import base
from manila_lite.tests.functional.schedules import by_hand

#: A type for shares that can be reverted.
_REVERTS = {
    'name': 'reverts',
    'extra_specs': {
        'driver_handles_share_servers': 'False',
        'snapshot_support': 'True',
        'revert_to_snapshot_support': 'True',
    },
}


class Schedules(base.CephTest):
    MORE = by_hand.OFTEN

    def held(self, share):
        """Return the names of the snapshots that the cluster holds of a share."""
        name = self.path(share).split('/')[3]
        return {one['name'] for one in self.ceph.ask('fs', 'subvolume', 'snapshot', 'ls', 'a', name)}

    def test_snapshots_are_taken_and_let_go_and_a_share_is_restored_from_one(self):
        share = self.share()
        place = self.mount(share, self.grant(share, self.ident()))
        schedule = by_hand.Schedule(self.lite, self.lite.state, share, keep={'last': 2})
        for text in ('first', 'second', 'third'):
            with (place / 'f').open('w') as file:
                file.write(text)
            schedule.run()
        second, third = schedule.kept(2)
        self.assertEqual({second, third}, self.held(share))
        read = {(one / 'f').read_text() for one in (place / '.snap').iterdir()}
        self.assertEqual({'second', 'third'}, read)
        # What was made by hand is not the schedule's to delete.
        mine = self.snapshot(share)
        schedule.run()
        self.until(lambda: second not in self.held(share), 'the oldest one of the schedule is deleted')
        self.assertLessEqual({mine, third}, self.held(share))
        schedule.delete()
        restored = self.share(snapshot_id=third)
        there = self.mount(restored, self.grant(restored, self.ident()))
        self.assertEqual('third', (there / 'f').read_text())

    def test_a_share_is_not_reverted_and_the_reason_is_told(self):
        share = self.share()
        snapshot = self.snapshot(share)
        status, document = self.lite.call(
            'POST', f'/shares/{share}/action', {'revert': {'snapshot_id': snapshot}}
        )
        self.assertEqual(400, status, document)
        self.assertIn('no revert_to_snapshot_support', document['badRequest']['message'])
        self.lite.ok('POST', '/types', {'share_type': _REVERTS})
        body = {'share': {'size': 1, 'share_proto': 'CEPHFS', 'share_type': 'reverts'}}
        refused = self.lite.ok('POST', '/shares', body)['share']['id']
        self.addCleanup(self.remove, refused)
        self.ends(refused, 'error')
        [message] = self.messages(refused)
        self.assertIn('revert_to_snapshot_support', message)
