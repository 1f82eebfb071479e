# SPDX-License-Identifier: Apache-2.0
"""Shares whose source is deleted by force while they are made: no second try, and a message with the reason."""

from manila_lite.tests.functional import base
from manila_lite.tests.functional.share_groups.test_share_groups import GroupTest

_ASKED = 'create_share_from_snapshot'


class SourcesGone(GroupTest):
    """One backend, so that the owner gets only one reason."""

    BACKENDS = {'alpha': ''}

    def told(self, path, key, make):
        """Delete the resource at ``path`` while the backend makes a share from it (``make``), and let that call fail once.

        Return the user message of the share's owner.
        """
        driver = self.service.managers['alpha'].driver
        before = len(driver.store.calls(_ASKED))
        driver.knobs.turn(f'{_ASKED}:hang', f'{_ASKED}:fail@once')
        share_id = make()
        base.eventually(lambda: len(driver.store.calls(_ASKED)) > before, 'the backend is not asked')
        self.admin.ok('POST', f'{path}/action', {'force_delete': None})
        self.admin.wait(path, key, 'gone')
        self.service.knob('alpha', f'{_ASKED}:fail@once')
        self.user.wait(f'/shares/{share_id}', 'share', 'error')
        self.assertEqual(before + 1, len(driver.store.calls(_ASKED)), 'the backend was asked again')
        [told] = self.user.ok('GET', f'/messages?resource_id={share_id}')['messages']
        return told['user_message']

    def test_share_fails_once_when_its_group_snapshot_is_deleted(self):
        group = self.group()
        self.share(group)
        snapshot = self.snapshot(group)

        def make():
            other = self.user.ok(
                'POST', '/share-groups', {'share_group': {'source_share_group_snapshot_id': snapshot['id']}}
            )['share_group']
            [share] = self.user.ok('GET', f'/shares?share_group_id={other["id"]}')['shares']
            return share['id']

        [member] = snapshot['members']
        self.assertIn(
            f'Share group snapshot member {member["id"]} is gone.',
            self.told(f'/share-group-snapshots/{snapshot["id"]}', 'share_group_snapshot', make),
        )

    def test_share_fails_once_when_its_snapshot_is_deleted(self):
        share = self.user.share()
        snapshot = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot'][
            'id'
        ]
        self.user.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.assertIn(
            f'Snapshot {snapshot} is gone.',
            self.told(
                f'/snapshots/{snapshot}',
                'snapshot',
                lambda: self.user.share(wait=None, snapshot_id=snapshot)['id'],
            ),
        )
