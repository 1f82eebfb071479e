# SPDX-License-Identifier: Apache-2.0
"""Turns of projects: in the database, for one runner, for several runners of one queue; and the cost of the query."""

import datetime
import threading

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.db.maintenance import schema_migrations
from manila_lite.db.queries import operation_claims, project_turns
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import begin
from manila_lite.engine.plans import FAST, WORK, Plan, Step
from manila_lite.engine.runner import Runner
from manila_lite.engine.search import Outcome
from manila_lite.engine.thread_slots import kept
from manila_lite.tests import waiting
from manila_lite.tests.functional import base, efforts
from manila_lite.tests.functional.database import test_migrations

TOPIC = 'share'
#: Columns of an operation before turns were added.
OLD = (
    'id',
    'created_at',
    'kind',
    'resource_type',
    'resource_id',
    'project_id',
    'topic',
    'host',
    'lane',
    'state',
    'data',
    'next_run_at',
)


class TurnsTest(base.ServiceTest):
    """Base class with a queue for each test, and operations in it."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.host = uuidutils.generate_uuid()
        self.db = self.service.services.db

    def rows(self, count, project, lane=WORK, *, age=0.0, host=None, **more):
        """Insert operations of a project into the queue; the first one has waited for ``age`` seconds. Return their ids."""
        idents = [uuidutils.generate_uuid() for _ in range(count)]
        now = timeutils.utcnow()
        with self.db.writer() as conn:
            rows.insert_many(
                conn,
                [
                    {
                        'id': resource_id,
                        'kind': 'test',
                        'resource_type': 'test',
                        'resource_id': resource_id,
                        'project_id': project,
                        'topic': TOPIC,
                        'host': host or self.host,
                        'lane': lane,
                        'data': {},
                        'mutex_key': None,
                        'next_run_at': now - datetime.timedelta(seconds=age, microseconds=count - number),
                    }
                    | more
                    for number, resource_id in enumerate(idents)
                ],
            )
        return idents

    def claim(self, resource_id, owner='somebody', lease=60):
        with self.db.writer() as conn:
            return operation_claims.claim(conn, rows.get(conn, resource_id), owner, lease)

    def due(self, lanes=(WORK, FAST), most=10, **more):
        with self.db.reader() as conn:
            return project_turns.list_claimable(conn, TOPIC, self.host, most, list(lanes), **more)

    def found(self, *args, **more):
        return [row.id for row in self.due(*args, **more)]


class Due(TurnsTest):
    """The statement that selects the next operations."""

    def test_oldest_operation_of_each_project_is_selected_in_order_of_age(self):
        many = self.rows(5, 'greedy', age=30)
        (one,) = self.rows(1, 'modest', age=10)
        (other,) = self.rows(1, 'other', age=20)
        self.assertEqual(
            [(many[0], 0, True), (other, 0, False), (one, 0, False)],
            [(row.id, row.running, row.more) for row in self.due()],
        )

    def test_project_with_fewest_running_operations_is_first(self):
        many = self.rows(5, 'greedy', age=30)
        few = self.rows(2, 'modest', age=20)
        (one,) = self.rows(1, 'new')
        for resource_id in (*many[:3], few[0]):
            self.claim(resource_id, owner=f'process of {resource_id}')
        self.assertEqual([(one, 0), (few[1], 1), (many[3], 3)], [(row.id, row.running) for row in self.due()])

    def test_operations_without_a_project_take_turns_too(self):
        many = self.rows(5, 'greedy', age=30)
        own = self.rows(2, None)
        self.claim(many[0])
        self.assertEqual([own[0], many[1]], self.found())

    def test_operations_of_other_hosts_lanes_and_dead_workers_do_not_count(self):
        other = self.rows(1, 'greedy', host=uuidutils.generate_uuid(), age=90)
        fast, over, mine = (
            self.rows(1, 'greedy', FAST, age=80),
            self.rows(1, 'greedy', age=70),
            self.rows(2, 'greedy', age=60),
        )
        modest = self.rows(1, 'modest')
        self.claim(*other)
        self.claim(*fast)
        self.claim(*over, lease=-1)  # that worker is dead
        self.assertEqual(
            [(*over, 0, True), (*modest, 0, False)], [(row.id, row.running, row.more) for row in self.due()]
        )
        self.assertNotIn(mine[0], self.found())

    def test_each_lane_counts_its_own_running_operations(self):
        work, fast = self.rows(2, 'greedy', age=20), self.rows(2, 'greedy', FAST, age=10)
        self.claim(work[0])
        self.assertEqual([(fast[0], 0), (work[1], 1)], [(row.id, row.running) for row in self.due()])
        self.assertEqual([work[1]], self.found([WORK]))
        self.assertEqual([fast[0]], self.found([FAST]))

    def test_scarce_lane_offers_only_projects_with_nothing_running(self):
        work, fast, new = self.rows(2, 'greedy'), self.rows(2, 'greedy', FAST), self.rows(1, 'new')
        self.claim(work[0])
        self.claim(fast[0])
        self.assertEqual([*new, fast[1]], self.found(scarce=[WORK]))
        self.assertEqual([*new], self.found(scarce=[FAST, WORK]))

    def test_blocked_operations_do_not_hide_other_due_operations(self):
        hour = timeutils.utcnow() + datetime.timedelta(hours=1)
        self.rows(3, 'a', next_run_at=hour)
        (mutex_key,) = self.rows(1, 'b', age=9, mutex_key='one')
        known, after = self.rows(1, 'b', age=8), self.rows(1, 'b', age=7)
        self.assertEqual(after, self.found(skip=known, busy=['one', 'two', 'three']))
        self.assertEqual([mutex_key], self.found())

    def test_result_is_limited_to_the_requested_number(self):
        for number in range(5):
            self.rows(2, f'p{number}')
        self.assertEqual(3, len(self.due(most=3)))

    def test_begun_operations_take_the_turn_of_their_caller(self):
        with self.db.writer() as conn:
            begin(
                conn,
                self.service.context('greedy'),
                'test',
                'test',
                uuidutils.generate_uuid(),
                topic=TOPIC,
                host=self.host,
            )
            begin(
                conn,
                self.service.context('modest'),
                'test',
                'test',
                uuidutils.generate_uuid(),
                topic=TOPIC,
                host=self.host,
            )
        self.assertEqual(2, len(self.due()))


class Cost(TurnsTest):
    """The query costs as much with thousands of operations of one project as with ten."""

    def test_query_cost_does_not_grow_with_a_projects_backlog(self):
        self.rows(20, 'greedy', age=900)
        for number in range(9):
            self.rows(1, f'modest{number}')
        few = self.effort()
        self.rows(5000, 'greedy', age=800)
        many = self.effort()
        self.assertLess(many, 3 * few + 100)
        self.assertGreater(many, few / 3, 'it is not measured')

    def effort(self):
        """Return the cost of the query, in a unit of the database."""
        if self.db.engine.dialect.name == 'mysql':
            efforts.learn(self.db.engine)
        [(text, values)] = efforts.sent(self.db.engine, self.look)
        return efforts.of(self.db.engine, text, values)

    def look(self):
        self.assertEqual(10, len(self.due(most=20, skip=['x'], busy=['y'])))


class Upgraded(test_migrations.MigrationTest):
    """Operations that waited through the upgrade take the turn of their project."""

    def test_waiting_operations_get_the_turn_of_their_project(self):
        schema_migrations.upgrade(self.db, '0016')
        now = timeutils.utcnow()
        with self.db.writer() as conn:
            conn.execute(
                sa.insert(sa.table('operations', *map(sa.column, OLD))),
                [
                    dict(
                        zip(
                            OLD,
                            (name, now, 'test', 'test', name, project, TOPIC, 'h', WORK, 'open', '{}', now),
                            strict=True,
                        )
                    )
                    for name, project in (('a', 'p'), ('b', None))
                ],
            )
        schema_migrations.upgrade(self.db)
        with self.db.reader() as conn:
            found = conn.execute(sa.select(models.operations.c.id, models.operations.c.fair_share_key))
            self.assertEqual({('a', 'p'), ('b', '')}, {tuple(row) for row in found})
            self.assertEqual(
                {'a', 'b'}, {row.id for row in project_turns.list_claimable(conn, TOPIC, 'h', 10, [WORK])}
            )


class Runners(TurnsTest):
    """Runners with four threads for work, one of them reserved. They look when they are woken, and poll every 0.1 s."""

    def setUp(self):
        super().setUp()
        conf = self.service.services.conf
        # What runs counts as long as its lease holds: no lease runs out here, however late it is renewed.
        for name, value in (('poll_interval', 0.1), ('workers', 4), ('fast_workers', 2), ('lease', 3600.0)):
            conf.set_override(name, value, 'operations')
            self.addCleanup(conf.clear_override, name, 'operations')
        self.began, self.ended, self.lock = [], set(), threading.Condition()
        self.addCleanup(self.let_go)

    def runner(self):
        """Return a started runner. Its operations wait for ``let_go``."""
        runner = Runner(
            self.service.services,
            TOPIC,
            self.host,
            [Plan('test', (Step(self.work),), lambda conn, work: None, lambda conn, work, error: None)],
            None,
        )
        self.addCleanup(runner.stop)
        self.addCleanup(self.let_go)
        runner.start()
        return runner

    def work(self, work):
        with self.lock:
            self.began.append(work.op.id)
            self.lock.wait_for(lambda: None in self.ended or work.op.id in self.ended, waiting.LIMIT)

    def let_go(self, *idents):
        """Let these operations end, or all."""
        with self.lock:
            self.ended.update(idents or [None])
            self.lock.notify_all()

    def until(self, count):
        base.eventually(lambda: len(self.began) >= count, f'only {len(self.began)} of {count} have begun')

    def test_reserved_worker_is_kept_for_another_project(self):
        many = self.rows(6, 'greedy', age=9)
        runner = self.runner()
        self.until(3)
        for _ in range(3):
            self.assertFalse(runner._find_work())
        self.assertEqual({*many[:3]}, {*self.began})
        modest = self.rows(2, 'modest')
        runner.wake()
        self.until(4)
        self.assertEqual(modest[0], self.began[3])

    def test_free_worker_takes_the_project_with_fewer_running_operations(self):
        """Check that a free thread takes an operation of the project with fewer running, and that no project is starved."""
        many = self.rows(8, 'greedy', age=9)
        self.runner()
        self.until(3)
        modest = self.rows(3, 'modest')
        self.until(4)
        self.let_go(*many[:2])  # one each is running: the oldest is next
        self.until(5)
        self.let_go(modest[0])  # two and none are running
        self.until(6)
        self.assertEqual([modest[0], many[3], modest[1]], self.began[3:])
        self.let_go()
        self.until(11)
        self.assertEqual({*many, *modest}, set(self.began))

    def looking_when_told(self):
        """Return a runner that looks for work only when the test tells it to."""
        runner = self.runner()
        runner._stopped.set()
        runner._poke.set()
        runner._threads['poll'].join()
        runner._poke.clear()
        return runner

    def test_one_query_starts_work_for_every_project_and_lane(self):
        runner = self.looking_when_told()
        wanted = {self.rows(2, project, lane)[0] for project in ('one', 'two') for lane in (WORK, FAST)}
        runner._find_work()
        self.assertEqual(5, runner.busy, 'and the free thread gets the second operation of one of them')
        self.until(5)
        self.assertLessEqual(wanted, set(self.began))

    def outcome(self, runner):
        search = runner._search()
        search.book()
        return search.outcome(runner._take(search.booked))

    def test_search_says_what_it_leaves(self):
        runner = self.looking_when_told()
        self.assertEqual(Outcome.NOTHING, self.outcome(runner))
        self.rows(1, 'only')
        self.assertEqual(Outcome.NOTHING, self.outcome(runner))
        self.rows(6, 'greedy')
        self.assertEqual(Outcome.WAITING, self.outcome(runner), 'the last thread is reserved')
        self.assertEqual(3, runner.busy)
        self.rows(1, 'modest')
        self.assertEqual(Outcome.WAITING, self.outcome(runner), 'one lane is full')
        self.assertEqual(4, runner.busy)

    def test_search_that_finds_its_limit_calls_for_another_at_once(self):
        runner = self.looking_when_told()
        for number in range(8):  # a thread is one of seven
            self.rows(1, f'p{number}', age=9)
        quick = self.rows(1, 'p0', FAST)  # behind them
        self.assertEqual((Outcome.MORE, 4), (self.outcome(runner), runner.busy))
        self.outcome(runner)
        self.until(5)
        self.assertIn(*quick, self.began)

    def looks_again(self, *, woken):
        """Say whether the end of work, in a lane that was full, calls for a look."""
        runner = self.looking_when_told()
        for project in ('one', 'two'):
            self.rows(1, project, FAST)
        runner._find_work()
        self.assertEqual(2, runner.busy)
        if woken:
            runner.wake([FAST])
        self.assertFalse(runner._poke.is_set())
        self.let_go()
        runner._pools[FAST].shutdown(wait=True)
        return runner._poke.is_set()

    def test_runner_woken_while_full_queries_again_when_a_worker_is_free(self):
        self.assertTrue(self.looks_again(woken=True))

    def test_runner_not_woken_while_full_does_not_query_again(self):
        self.assertFalse(self.looks_again(woken=False))

    def test_single_project_gets_all_workers_that_are_not_reserved(self):
        self.service.services.conf.set_override('reserved_workers', 0, 'operations')
        self.addCleanup(self.service.services.conf.clear_override, 'reserved_workers', 'operations')
        many = self.rows(6, 'only')
        self.runner()
        self.until(4)
        self.assertEqual({*many[:4]}, {*self.began})

    def test_operations_claimed_by_another_process_count(self):
        """Check that operations claimed by one process count for the other."""
        self.rows(3, 'greedy', age=9)
        first = self.runner()
        self.until(3)
        first._stopped.set()  # it finishes its work, and claims no more
        first._poke.set()
        first._threads['poll'].join()
        self.rows(4, 'greedy', age=8)
        modest = self.rows(4, 'modest')
        self.runner()
        self.until(6)
        # Three threads are not reserved: modest has 0, 1 and 2 running, greedy has 3.
        self.assertEqual({*modest[:3]}, {*self.began[3:]})

    def test_reserved_workers_are_a_fraction_and_never_all(self):
        self.assertEqual([0, 1, 1, 1, 2, 3, 4], [kept(threads, 33) for threads in (1, 2, 3, 4, 6, 8, 12)])
        self.assertEqual([0, 1, 11], [kept(threads, 90) for threads in (1, 2, 12)])
        self.assertEqual(0, kept(12, 0))
