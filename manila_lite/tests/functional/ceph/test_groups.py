# SPDX-License-Identifier: Apache-2.0
"""Share groups on a backend of the driver cephfs: snapshots of members are taken one after another, since Ceph takes none of a
group.
"""

from manila_lite.tests.functional.ceph import base
from manila_lite.tests.services.daemon import Broken


class Groups(base.CephTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.loose, cls.strict = (
            cls.lite.ok(
                'POST',
                '/share-group-types',
                {'share_group_type': {'name': name, 'share_types': ['default'], 'group_specs': specs}},
            )['share_group_type']['id']
            for name, specs in (('loose', {}), ('strict', {'consistent_snapshot_support': 'pool'}))
        )

    def made(self, path, key, wait='available', **values):
        """Make a group, or a snapshot of one; return its id. It is deleted at the end."""
        made = self.lite.ok('POST', path, {key: values})[key]['id']
        self.addCleanup(self.gone, f'{path}/{made}', key)
        self.lite.wait(f'{path}/{made}', key, wait)
        return made

    def group(self, **values):
        return self.made('/share-groups', 'share_group', **values)

    def gone(self, path, key):
        self.lite.call('DELETE', path)
        self.lite.wait(path, key, 'gone')

    def remove(self, share):
        """Leave the share to ``remove_of``: who deletes it has to name its group."""

    def remove_of(self, group):
        """Delete the shares of a group."""
        found = [share['id'] for share in self.lite.ok('GET', f'/shares?share_group_id={group}')['shares']]
        for share in found:
            self.lite.call('DELETE', f'/shares/{share}?share_group_id={group}')
        for share in found:
            self.lite.wait(f'/shares/{share}', 'share', 'gone')

    def test_group_is_snapshotted_and_made_anew_from_its_snapshot(self):
        group = self.group(share_group_type_id=self.loose)
        self.assertIsNone(
            self.lite.ok('GET', f'/share-groups/{group}')['share_group']['consistent_snapshot_support']
        )
        self.addCleanup(self.remove_of, group)
        for name in ('one', 'two'):
            share = self.share(share_group_id=group, name=name)
            (self.mount(share, self.grant(share, self.ident())) / 'f').write_text(f'of {name}')
        snapshot = self.made('/share-group-snapshots', 'share_group_snapshot', share_group_id=group)
        members = self.lite.ok('GET', f'/share-group-snapshots/{snapshot}/members')[
            'share_group_snapshot_members'
        ]
        taken = {
            one['name']
            for share in self.lite.ok('GET', f'/shares?share_group_id={group}')['shares']
            for one in self.ceph.ask(
                'fs', 'subvolume', 'snapshot', 'ls', 'a', self.path(share['id']).split('/')[3]
            )
        }
        self.assertEqual({member['id'] for member in members}, taken)
        again = self.group(share_group_type_id=self.loose, source_share_group_snapshot_id=snapshot)
        self.addCleanup(self.remove_of, again)
        read = set()
        for share in self.lite.ok('GET', f'/shares?share_group_id={again}')['shares']:
            read.add((self.mount(share['id'], self.grant(share['id'], self.ident())) / 'f').read_text())
        self.assertEqual({'of one', 'of two'}, read)

    def test_group_type_that_asks_for_consistent_snapshots_gets_no_pool(self):
        group = self.group(share_group_type_id=self.strict, wait='error')
        [message] = self.messages(group)
        self.assertIn('sg_consistent_snapshot_support', message)

    def test_ceph_takes_no_snapshot_of_a_subvolume_group(self):
        """The driver would offer consistent snapshots, with a subvolume group for each share group, if Ceph could take them."""
        self.ceph.ask('fs', 'subvolumegroup', 'create', 'a', 'several')
        self.addCleanup(self.ceph.ask, 'fs', 'subvolumegroup', 'rm', 'a', 'several')
        refused = self.assertRaises(
            Broken, self.ceph.ask, 'fs', 'subvolumegroup', 'snapshot', 'create', 'a', 'several', 'now'
        )
        self.assertIn('subvolume group snapshots are not supported', str(refused))
