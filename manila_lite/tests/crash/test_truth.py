# SPDX-License-Identifier: Apache-2.0
"""The checks of the matrix and of the soak find planted problems."""

from types import SimpleNamespace

import testtools
from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.drivers.dummy.store import ShareRecord, SnapshotRecord, Store
from manila_lite.tests import fixtures
from manila_lite.tests.crash import truth
from manila_lite.tests.factories import shares as share_rows


class Truth(testtools.TestCase):
    """Rows and records are planted; no process works on them."""

    def setUp(self):
        super().setUp()
        service = self.useFixture(fixtures.Service(backends={'alpha': '', 'beta': ''}, parts=()))
        self.engine = service.services.db.engine
        self.state = service.state
        for name in ('alpha', 'beta'):
            Store(self.state / name).prepare()
        self.share = self.plant_share('available')
        self.record('alpha')

    def insert(self, table, **values):
        row_id = uuidutils.generate_uuid()
        with self.engine.begin() as conn:
            conn.execute(table.insert().values(**{'id': row_id, 'project_id': 'p'} | values))
        return row_id

    def plant_share(self, status, host='test@alpha#pool1', **more):
        share_id = self.insert(models.shares, size=1, share_proto='NFS', **more)
        with self.engine.begin() as conn:
            share_rows.instance(conn, share_id, share_id, status=status, host=host)
        return share_id

    def plant_snapshot(self, status):
        return self.insert(
            models.snapshots, share_id=self.share, status=status, size=1, share_size=1, share_proto='NFS'
        )

    def record(self, backend, instance_id=None, size=1, rules=()):
        Store(self.state / backend).shares.put(
            ShareRecord(
                instance_id or self.share,
                'pool1',
                size,
                'NFS',
                'path',
                rules={rule: ['ip', '10.0.0.1', 'rw'] for rule in rules},
            )
        )

    def problems(self):
        projects = truth.read(self.engine)
        rows = projects['p']
        backends = truth.Backends(self.state, ('alpha', 'beta'))
        return [
            *rows.unsettled(),
            *backends.differences(rows),
            *truth.untold(rows),
            *(what for _, what in backends.orphans(projects)),
        ]

    def assert_found(self, *words):
        problems = self.problems()
        self.assertTrue(any(all(word in problem for word in words) for problem in problems), problems)

    def test_consistent_state_has_no_problems(self):
        self.assertEqual([], self.problems())

    def test_a_share_in_a_transient_status_is_found(self):
        self.plant_share('creating', host=None)
        self.assert_found('is creating')

    def test_unfinished_resize_is_found(self):
        self.plant_share('error', host=None, target_size=3)
        self.assert_found('on its way to 3')

    def test_open_operation(self):
        self.insert(
            models.operations,
            kind='k',
            resource_type='share',
            resource_id=self.share,
            topic='share',
            host='h',
            lane='work',
            state='open',
            data={},
            next_run_at=timeutils.utcnow(),
        )
        self.assert_found('operation k', 'is open')

    def test_a_share_that_the_backend_lost_is_found(self):
        Store(self.state / 'alpha').shares.drop(self.share)
        self.assert_found('lost:', self.share)

    def test_lost_snapshot(self):
        snapshot = self.plant_snapshot('available')
        self.assert_found('lost:', snapshot)

    def test_orphans_at_the_backend_are_found(self):
        self.record('beta', 'nobody')
        self.assert_found('orphan:', 'nobody')
        store = Store(self.state / 'beta')
        store.snapshots.put(SnapshotRecord('old', self.share, 1, '', 0.0))
        self.assert_found('orphan:', 'snapshot old')

    def test_share_on_two_backends_is_found(self):
        self.record('beta')
        self.assert_found('orphan:', "['beta'] as well")

    def test_wrong_size_and_rules(self):
        self.record('alpha', size=5, rules=['r'])
        self.assert_found('wrong:', '5 at its backend')
        self.assert_found('wrong:', "['r'] at its backend")

    def test_failure_without_a_message_is_found(self):
        failed = self.plant_share('error', host=None)
        self.assert_found('untold:', failed)
        self.insert(
            models.messages,
            resource_type='SHARE',
            resource_id=failed,
            action_id='002',
            detail_id='001',
            message_level='ERROR',
            text='',
            expires_at=timeutils.utcnow(),
        )
        self.assertEqual([], self.problems())

    def test_wrong_quota_usage_is_found(self):
        rows = truth.read(self.engine)['p']
        self.assertEqual(
            {'shares': 1, 'gigabytes': 1}, {name: used for name, used in rows.usage().items() if used}
        )

        def said(shares):
            usage = {name: {'in_use': 0, 'reserved': 0} for name in rows.usage()}
            usage |= {'shares': {'in_use': shares, 'reserved': 0}, 'gigabytes': {'in_use': 0, 'reserved': 1}}
            return SimpleNamespace(ok=lambda method, path: {'quota_set': usage})

        self.assertEqual([], list(truth.quota(said(1), 'p', rows)))
        self.assertEqual(['quota: it says 2 shares, and there are 1'], list(truth.quota(said(2), 'p', rows)))
