# SPDX-License-Identifier: Apache-2.0
"""Requests that the status of a replica forbids: see ``test_wrong_states``."""

from manila_lite import states
from manila_lite.db import models
from manila_lite.tests.functional import refused
from manila_lite.tests.functional.shares.test_wrong_states import BROKEN, MUST_BE

_OF_REPLICA = '/share-replicas/{replica}/action'
_REPLICA_IS = 'Replica {replica} is {status}; to be '
_REPLICAS = {
    'delete': (
        '/share-replicas/{replica}',
        None,
        f'available {BROKEN}',
        400,
        'wrong_state',
        f'{MUST_BE}delete it, it must be',
    ),
    'promote': (
        _OF_REPLICA,
        {'promote': None},
        'available',
        400,
        'wrong_state',
        f'{_REPLICA_IS}promoted it must be available',
    ),
    'resync': (
        _OF_REPLICA,
        {'resync': None},
        'available error',
        400,
        'wrong_state',
        f'{_REPLICA_IS}resynchronized, it must be',
    ),
}
_OVER = {
    'promote': (
        _OF_REPLICA,
        {'promote': None},
        f'available {BROKEN}',
        400,
        'wrong_state',
        'The share is {status}; to fail over it, it must be',
    )
}
_SETTLED = 'available error error_deleting manage_error unmanage_error error_deferred_deleting'
_BUSY = {
    'promote': (
        _OF_REPLICA,
        {'promote': None},
        _SETTLED,
        400,
        'wrong_state',
        'Snapshot {snapshot} of share {share} is {status}; wait for it',
    )
}


class Replicas(refused.Refusing):
    """A replica, its share and their snapshot in every status."""

    def setUp(self):
        super().setUp()
        name = self.getUniqueString()
        self.type(name, replication_type='dr')
        self.ids = {'share': self.share(share_type=name)}
        self.ids['replica'] = self.user.ok(
            'POST', '/share-replicas', {'share_replica': {'share_id': self.ids['share']}}
        )['share_replica']['id']
        self.be('available', host=refused.HOST, replica_state='in_sync')

    def be(self, now, **values):
        self.put(models.share_instances, self.ids['replica'], status=now, **values)

    def test_requests_in_a_forbidden_replica_status_are_refused_and_name_it(self):
        self.assertEqual([], self.wrong(self.admin, _REPLICAS, self.ids, states.SHARE.statuses, self.be))

    def test_promotion_is_refused_while_the_share_is_busy(self):
        [active] = [
            row['id']
            for row in self.admin.ok('GET', f'/share-replicas?share_id={self.ids["share"]}')['share_replicas']
            if row['id'] != self.ids['replica']
        ]
        self.assertEqual(
            [],
            self.wrong(
                self.admin,
                _OVER,
                self.ids,
                states.SHARE.statuses,
                lambda now: self.put(models.share_instances, active, status=now),
            ),
        )

    def test_promotion_is_refused_while_a_snapshot_is_busy(self):
        self.ids['snapshot'] = self.snapshot(self.ids['share'])
        self.assertEqual(
            [],
            self.wrong(
                self.admin,
                _BUSY,
                self.ids,
                states.SNAPSHOT.statuses,
                lambda now: self.put(models.snapshots, self.ids['snapshot'], status=now),
            ),
        )
