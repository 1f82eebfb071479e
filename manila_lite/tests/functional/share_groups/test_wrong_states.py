# SPDX-License-Identifier: Apache-2.0
"""Requests that the status of a share group or its snapshot forbids: see ``test_wrong_states``."""

from manila_lite import states
from manila_lite.db import models
from manila_lite.tests.functional import refused
from manila_lite.tests.functional.shares.test_wrong_states import SHARES

_GROUPS = {
    'delete': (
        '/share-groups/{group}',
        None,
        'available error error_deleting',
        409,
        'wrong_state',
        'The share group is {status}; to delete it, it must be available or error or error_deleting',
    ),
    'snapshot': (
        '/share-group-snapshots',
        {'share_group_snapshot': {'share_group_id': '{group}'}},
        'available',
        409,
        'wrong_state',
        'share group {group} is {status}, not available',
    ),
    'share': (
        '/shares',
        {'share': {'size': 1, 'share_proto': 'NFS', 'share_group_id': '{group}'}},
        'available',
        400,
        'invalid_input',
        'share group {group} is {status}, not available',
    ),
}
_GROUP_SNAPSHOTS = {
    'delete': (
        '/share-group-snapshots/{snapshot}',
        None,
        'available error error_deleting',
        409,
        'wrong_state',
        'The share group snapshot is {status}; to delete it, it must be available or error or error_deleting',
    ),
    'group': (
        '/share-groups',
        {'share_group': {'source_share_group_snapshot_id': '{snapshot}'}},
        'available',
        409,
        'wrong_state',
        'share group snapshot {snapshot} is {status}, not available',
    ),
}
_MEMBERS = {
    'group snapshot': (
        '/share-group-snapshots',
        {'share_group_snapshot': {'share_group_id': '{group}'}},
        'available',
        409,
        'wrong_state',
        'share {share} of the group is {status}, not available',
    )
}
_UNDER_WAY = 'Share group snapshot {snapshot} of the group of share {share} is being created or'
_STILL = {
    name: (*row[:2], '', 400, 'wrong_state', _UNDER_WAY)
    for name, row in SHARES.items()
    if name in ('extend', 'shrink', 'snapshot')
} | {
    'revert': (*SHARES['revert'][:2], '', 409, 'wrong_state', _UNDER_WAY),
    'back_up': (*SHARES['back_up'][:2], '', 400, 'wrong_state', _UNDER_WAY),
    'manage snapshot': (*SHARES['manage snapshot'][:2], '', 409, 'wrong_state', _UNDER_WAY),
    'delete snapshot': ('/snapshots/{single}', None, '', 403, 'wrong_state', _UNDER_WAY),
    'unmanage snapshot': (
        '/snapshots/{single}/action',
        {'unmanage': None},
        '',
        403,
        'wrong_state',
        _UNDER_WAY,
    ),
    'another': (
        *_GROUPS['snapshot'][:2],
        '',
        409,
        'wrong_state',
        'snapshot {snapshot} of share group {group} is being taken or deleted',
    ),
}
_GROUP_TYPE = {'share_group_type': {'name': 'any', 'share_types': ['default']}}


class Groups(refused.Refusing):
    """A group, its member and its snapshot in every status."""

    EXTRA = 'default_share_group_type = any\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok('POST', '/share-group-types', _GROUP_TYPE)

    def setUp(self):
        super().setUp()
        group = self.user.ok('POST', '/share-groups', {'share_group': {}})['share_group']['id']
        self.ids = {'group': group}
        self.be('available', host=refused.HOST)
        self.ids['share'] = self.share(share_group_id=group, size=2)

    def be(self, now, **values):
        self.put(models.share_groups, self.ids['group'], status=now, **values)

    def taken(self):
        """Make a snapshot of the group; return a function that sets its status."""
        self.ids['snapshot'] = self.user.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': self.ids['group']}}
        )['share_group_snapshot']['id']
        return lambda now: self.put(models.share_group_snapshots, self.ids['snapshot'], status=now)

    def test_requests_in_a_forbidden_group_status_are_refused_and_name_it(self):
        self.assertEqual([], self.wrong(self.user, _GROUPS, self.ids, states.SHARE_GROUP.statuses, self.be))

    def test_requests_in_a_forbidden_group_snapshot_status_are_refused(self):
        put = self.taken()
        self.assertEqual(
            [], self.wrong(self.user, _GROUP_SNAPSHOTS, self.ids, states.SHARE_GROUP_SNAPSHOT.statuses, put)
        )

    def test_group_snapshot_is_refused_unless_every_share_is_available(self):
        self.assertEqual(
            [],
            self.wrong(
                self.user,
                _MEMBERS,
                self.ids,
                states.SHARE.statuses,
                lambda now: self.share_is(self.ids['share'], status=now),
            ),
        )

    def test_changes_of_shares_are_refused_during_work_on_a_group_snapshot(self):
        self.ids['single'] = self.snapshot(self.ids['share'])
        self.ids['backup'] = self.backup(self.ids['share'])
        put = self.taken()
        self.assertEqual([], self.wrong(self.admin, self.still(), self.ids, {'creating', 'deleting'}, put))

    def still(self):
        """Return the requests that are refused while a group snapshot is taken or deleted, by name."""
        return {
            name: (path, {'revert': {'snapshot_id': '{single}'}} if name == 'revert' else body, *rest)
            for name, (path, body, *rest) in _STILL.items()
        }
