# SPDX-License-Identifier: Apache-2.0
"""Quotas under random requests of several users at once: none is exceeded, and usage is that of the existing shares."""

import threading
from concurrent import futures

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manila_lite import errors
from manila_lite.actions import quotas as quota_actions
from manila_lite.actions import share_creation
from manila_lite.actions import shares as actions
from manila_lite.db import models
from manila_lite.db.queries import quotas
from manila_lite.tests import waiting
from manila_lite.tests.functional import base

TYPES = ('default', 'gold')
USERS = ('ann', 'bob')
LIMITS = st.fixed_dictionaries({'shares': st.integers(0, 6), 'gigabytes': st.integers(0, 12)})
#: The user, and the size and type of a share to create, or None to delete the share that this user made last.
STEP = st.tuples(
    st.sampled_from(USERS),
    st.one_of(
        st.none(),
        st.tuples(st.integers(1, 4), st.sampled_from(TYPES)),
        st.tuples(st.integers(1, 4), st.sampled_from(TYPES)),
    ),
)
PLAN = st.lists(st.lists(STEP, min_size=1, max_size=5), min_size=3, max_size=4)

_SETTINGS = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)


class QuotaPropertyTest(base.ServiceTest):
    """Requests without a scheduler and backends, so that nothing changes their rows later."""

    PARTS = ()
    #: The project of the present example; each has its own.
    number = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'gold', 'extra_specs': {'driver_handles_share_servers': 'False'}}},
        )
        cls.kinds = {kind['name']: kind['id'] for kind in cls.admin.ok('GET', '/types')['share_types']}

    def _caller(self, user):
        return self.service.context(self.project, user)

    def _limit(self, project, users, kinds):
        """Set the limits; those of users and types are cut to the project's, which they may not exceed."""
        admin = self.service.context('ops', 'admin', ('admin',))
        quota_actions.update(admin, self.project, None, None, project)
        cut = [{key: min(limit, project[key]) for key, limit in one.items()} for one in (*users, *kinds)]
        for user, limits in zip(USERS, cut[: len(users)], strict=True):
            if limits:
                quota_actions.update(admin, self.project, user, None, limits)
        for kind, limits in zip(TYPES, cut[len(users) :], strict=True):
            if limits:
                quota_actions.update(admin, self.project, None, kind, limits)
        return dict(zip((*USERS, *TYPES), cut, strict=True)) | {'project': project}

    def _run(self, steps, start):
        """Take the steps; return the shares of this thread that stay, as (user, type, size)."""
        mine = {user: [] for user in USERS}
        start.wait(waiting.LIMIT)
        for user, what in steps:
            ctx = self._caller(user)
            if what is not None:
                size, kind = what
                try:
                    row, _ = share_creation.create(
                        ctx, {'size': size, 'share_proto': 'NFS', 'share_type': kind}
                    )
                except errors.OverQuota:
                    continue
                mine[user].append((row.id, kind, size))
            elif mine[user]:
                self._delete(ctx, mine[user].pop()[0])
        return [(user, kind, size) for user, made in mine.items() for _, kind, size in made]

    def _delete(self, ctx, resource_id):
        """Delete a share completely: after the request, remove the row as the backend's operation would."""
        actions.delete(self.service.context(self.project, ctx.user_id, ('admin',)), resource_id, force=True)
        with self.service.services.db.writer() as conn:
            conn.execute(models.shares.delete().where(models.shares.c.id == resource_id))

    def _used(self, **part):
        with self.service.services.db.reader() as conn:
            found = quotas.usages(conn, self.project, **part)
        return {key: found[key].total for key in ('shares', 'gigabytes')}

    def _play(self, plan):
        start = threading.Barrier(len(plan))
        with futures.ThreadPoolExecutor(len(plan)) as pool:
            threads = [pool.submit(self._run, steps, start) for steps in plan]
            return [share for thread in threads for share in thread.result(waiting.LIMIT)]

    def _check_watched(self, limits, plan):
        """Play the plan while another thread checks that usage never exceeds the limits of the project."""
        done, seen = threading.Event(), []

        def watch():
            over = False
            while not over:
                over = done.is_set()
                seen.append(self._used())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            return self._play(plan)
        finally:
            done.set()
            watcher.join(waiting.LIMIT)
            self.assertTrue(seen)
            for used in seen:
                self._within(used, limits['project'])

    def _within(self, used, limits):
        for key, limit in limits.items():
            self.assertLessEqual(used[key], limit, f'{key} in {self.project}')

    @staticmethod
    def _sum(shares):
        return {'shares': len(shares), 'gigabytes': sum(size for _, _, size in shares)}

    @_SETTINGS
    @given(LIMITS, st.tuples(LIMITS, LIMITS), st.tuples(LIMITS, LIMITS), PLAN)
    def test_no_limit_is_exceeded_and_usage_is_exact(self, project, users, kinds, plan):
        type(self).number += 1
        self.project = f'project-{self.number}'
        limits = self._limit(project, users, kinds)
        stay = self._check_watched(limits, plan)
        self.assertEqual(self._sum(stay), self._used())
        for user in USERS:
            used = self._used(user_id=user)
            self.assertEqual(self._sum([share for share in stay if share[0] == user]), used)
            self._within(used, limits[user])
        for kind in TYPES:
            used = self._used(share_type_id=self.kinds[kind])
            self.assertEqual(self._sum([share for share in stay if share[1] == kind]), used)
            self._within(used, limits[kind])

    def test_concurrent_requests_fill_the_limit_exactly(self):
        self.project = 'rush'
        limits = self._limit(
            {'shares': 3, 'gigabytes': 100}, [{'shares': 2}, {'shares': 3}], [{'shares': 3}] * 2
        )
        plan = [[(user, (1, kind))] * 2 for user in USERS for kind in TYPES]
        stay = self._check_watched(limits, plan)
        self.assertEqual(3, len(stay))
        self.assertEqual({'shares': 3, 'gigabytes': 3}, self._used())
        self._within(self._used(user_id='ann'), {'shares': 2})

    def test_limit_is_never_lowered_below_concurrent_usage(self):
        """Lower a limit while shares are made, both behind one lock: usage is never above the limit afterwards."""
        for turn in range(10):
            self.project = f'lowered-{turn}'
            self._limit({'shares': 5, 'gigabytes': 100}, [{}, {}], [{}, {}])
            start = threading.Barrier(2)

            def lower(start=start):
                start.wait(waiting.LIMIT)
                try:
                    return quota_actions.update(
                        self.service.context('ops', 'admin', ('admin',)),
                        self.project,
                        None,
                        None,
                        {'shares': 1},
                    )['shares']
                except errors.Invalid:
                    return 5

            with futures.ThreadPoolExecutor(2) as pool:
                lowered = pool.submit(lower)
                made = pool.submit(self._run, [('ann', (1, 'default'))] * 3, start)
                self.assertLessEqual(len(made.result(waiting.LIMIT)), lowered.result(waiting.LIMIT))
            self.assertEqual(len(made.result()), self._used()['shares'])
