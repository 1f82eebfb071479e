# SPDX-License-Identifier: Apache-2.0
"""A project asks for more slow work than there are workers; the work of others is done meanwhile.

Tests look at the order of calls to the backend, never at a time.
"""

from manila_lite.tests.functional import base

#: More than the workers of a backend and of the scheduler, and than in the report of the problem (28).
BACKLOG = 40
GRANTS = 10


class GreedyTest(base.ServiceTest):
    def placed_at(self, share):
        """Return when the operation came to the backend's queue; None if it has not."""
        [operation] = self.admin.ok('GET', f'/operations?all_projects=1&resource_id={share["id"]}')[
            'operations'
        ]
        return operation['next_run_at'] if operation['host'] else None


class Greedy(GreedyTest):
    """A backend with default options, whose calls can be made to hang, or to be slow."""

    BACKENDS = {'alpha': 'dummy_pool_size_gb = 1000'}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.knob, 'alpha', '')
        self.service.knob('alpha', '')
        self.greedy, self.modest = self.caller(f'greedy-{self.id()}'), self.caller(f'modest-{self.id()}')

    def asked(self, call):
        """Return the ids in calls of this method of the backend, in order."""
        lines = (self.service.state / 'alpha' / 'calls').read_text().splitlines()
        return [words[1] for words in map(str.split, lines) if words[0] == call]

    def instance(self, share):
        [instance] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        return instance['id']

    def until_asked(self, call, instance_id):
        base.eventually(lambda: instance_id in self.asked(call), f'{call} of {instance_id} has not begun')

    def done(self, shares, status='available'):
        for share in shares:
            self.admin.wait(f'/shares/{share["id"]}', 'share', status)

    def test_creates_that_hang_do_not_block_others(self):
        """The workers that the attacker may use hang for good; another project's create begins, and that of a third."""
        self.service.knob('alpha', 'create_share:hang')
        many = [self.greedy.share(wait=None) for _ in range(BACKLOG)]
        base.eventually(
            lambda: {self.instance(share) for share in many} & set(self.asked('create_share')),
            'none has begun',
        )
        for caller in (self.modest, self.caller(f'third-{self.id()}')):
            share = caller.share(wait=None)
            self.until_asked('create_share', self.instance(share))
            many.append(share)
        begun = {self.instance(share) for share in many[:BACKLOG]} & set(self.asked('create_share'))
        conf = self.service.conf.operations
        self.assertLessEqual(len(begun), conf.workers)
        self.assertLess(len(begun), BACKLOG)
        self.service.knob('alpha', '')
        self.done(many)  # no project starves, nor does the attacker

    def test_slow_creates_do_not_block_others(self):
        """A create that comes last begins before most of the backlog."""
        self.service.knob('alpha', 'create_share:hang')  # until the last one is there, too
        many = [self.greedy.share(wait=None) for _ in range(BACKLOG)]
        share = self.modest.share(wait=None)
        base.eventually(lambda: self.placed_at(share), 'it is not placed')
        self.service.knob('alpha', 'create_share:delay=1')
        self.done([share])
        before = self.asked('create_share').index(self.instance(share))
        theirs = [
            self.asked('create_share').index(instance_id)
            for instance_id in map(self.instance, many)
            if instance_id in self.asked('create_share')
        ]
        self.service.knob('alpha', '')
        self.done(many)
        self.assertLess(sum(place < before for place in theirs), BACKLOG, 'the backlog was over')
        self.assertTrue(
            set(self.asked('create_share')[before + 1 :]) & set(map(self.instance, many)),
            'the backlog was over',
        )

    def test_grants_that_hang_do_not_block_others(self):
        """The fast lane has turns of its own."""
        many = [self.greedy.share(wait=None) for _ in range(GRANTS)]
        share = self.modest.share()
        self.done([*many, share])
        self.service.knob('alpha', 'update_access:hang')
        grant = {'access_type': 'ip', 'access_to': '10.0.0.1', 'access_level': 'rw'}
        before = len(self.asked('update_access'))
        for one in many:
            self.assertEqual(200, self.greedy.action(one['id'], 'allow_access', grant)[0])
        base.eventually(lambda: len(self.asked('update_access')) > before, 'none has begun')
        self.assertEqual(200, self.modest.action(share['id'], 'allow_access', grant)[0])
        self.until_asked('update_access', self.instance(share))
        self.assertLess(len(self.asked('update_access')) - before, GRANTS)

    def test_administrator_requests_are_served_during_a_backlog(self):
        """An administrator's request during the attack need not wait for its end."""
        share = self.modest.share()
        self.service.knob('alpha', 'create_share:hang')
        many = [self.greedy.share(wait=None) for _ in range(BACKLOG)]
        base.eventually(
            lambda: {self.instance(one) for one in many} & set(self.asked('create_share')), 'none has begun'
        )
        self.assertEqual(202, self.admin.action(share['id'], 'force_delete')[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')
        self.service.knob('alpha', '')
        self.done(many)


class GreedyAtTheScheduler(GreedyTest):
    """The scheduler stands still while the attacker asks for shares; then it begins."""

    PARTS = ('share',)

    def test_others_are_placed_before_a_backlog(self):
        self.service.knob('alpha', 'create_share:hang')
        self.addCleanup(self.service.knob, 'alpha', '')
        many = [self.caller('greedy').share(wait=None) for _ in range(BACKLOG)]
        share = self.caller('modest').share(wait=None)
        self.service.scheduler.start()
        self.addCleanup(self.service.scheduler.stop)
        base.eventually(lambda: all(self.placed_at(one) for one in [*many, share]), 'not all are placed')
        before = [one for one in many if self.placed_at(one) < self.placed_at(share)]
        self.assertLess(len(before), BACKLOG / 2)
        self.service.knob('alpha', '')
        for one in [*many, share]:
            self.admin.wait(f'/shares/{one["id"]}', 'share', 'available')
