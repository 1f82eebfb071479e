# SPDX-License-Identifier: Apache-2.0
"""A schedule on real btrfs: it takes snapshots, keeps two and deletes one, and a client reads a kept one over NFS."""

from manila_lite.tests.functional.linux import api_base, server_base
from manila_lite.tests.functional.schedules import by_hand

_TYPE = {
    'name': 'past',
    'extra_specs': {
        'driver_handles_share_servers': 'True',
        'snapshot_support': 'True',
        'mount_snapshot_support': 'True',
    },
}


class Schedules(api_base.ApiTest):
    CONFIG = api_base.CONFIG + by_hand.OFTEN

    def test_a_kept_snapshot_is_read_over_nfs(self):
        self.lite.ok('POST', '/types', {'share_type': _TYPE})
        network = self.network()
        share, server = self.share(network, share_type='past')
        self.clients('four')
        self.grant(share, '10.66.1.101')
        client, address = 'friend-four', server_base.address('four', 5)
        export = self.locations(share)[0][0].partition(':')[2]
        schedule = by_hand.Schedule(self.lite, self.machine.state / 'lib', share, keep={'last': 2})
        for text in ('first', 'second', 'third'):
            self.works(client, address, export, 'write', 'f', text)
            schedule.run()
        second, third = schedule.kept(2)
        self.lite.ok(
            'POST',
            f'/snapshots/{second}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.66.1.101'}},
        )
        self.until(
            lambda: [one['state'] for one in schedule.rules(second)] == ['active'], 'the rule is in force'
        )
        self.assertEqual('second', self.works(client, address, schedule.export(second), 'read', 'f'))
        pool = next(self.machine.state.glob('**/pool/snapshots'))
        self.assertEqual({second, third}, {place.name for place in pool.iterdir()})
        schedule.delete()
        for snapshot in (second, third):
            self.lite.ok('DELETE', f'/snapshots/{snapshot}')
            self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'gone')
        self.remove(network, share, servers=(server,))
