# SPDX-License-Identifier: Apache-2.0
"""Request ids in the log lines of a thread, and its present work."""

import concurrent.futures
import threading

import testtools
from oslo_context import context as oslo_context
from oslo_context import fixture

from manila_lite import context
from manila_lite.tests import waiting


def logged():
    """Return the request id that a log line would have in this thread."""
    current = oslo_context.get_current()
    return current.request_id if current else None


class Working(testtools.TestCase):
    def setUp(self):
        super().setUp()
        # Tests that ran in this thread before may have let a library make contexts.
        self.useFixture(fixture.ClearRequestContext())

    def test_context_is_not_logged_before_work_begins(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:

            def make():
                context.RequestContext(request_id='req-1')
                context.RequestContext(request_id='req-2', overwrite=False)
                return logged()

            self.assertIsNone(pool.submit(make).result())

    def test_context_and_task_are_set_during_work_and_restored_after_it(self):
        one, other = (context.RequestContext(request_id=f'req-{number}') for number in (1, 2))
        with context.working(one, 'outer'):
            with context.working(other, 'inner'):
                self.assertEqual('req-2', logged())
                self.assertEqual(['inner'], [task.what for task in context.tasks()])
            self.assertEqual('req-1', logged())
            self.assertEqual(['outer'], [task.what for task in context.tasks()])
        self.assertIsNone(logged())
        self.assertEqual([], context.tasks())

    def test_context_is_removed_after_an_error(self):
        def fail():
            with context.working(context.RequestContext(request_id='req-1'), 'x'):
                raise ValueError

        self.assertRaises(ValueError, fail)
        self.assertIsNone(logged())
        self.assertEqual([], context.tasks())

    def test_known_as_replaces_the_context_during_work_only(self):
        with context.working(context.RequestContext(request_id='req-1'), 'x'):
            context.known_as(context.RequestContext(request_id='req-1', project_id='p'))
            self.assertEqual('p', oslo_context.get_current().project_id)
            self.assertEqual(['p'], [task.ctx.project_id for task in context.tasks()])
        context.known_as(context.RequestContext(request_id='req-1'))
        self.assertIsNone(logged())

    def test_context_of_a_thread_is_not_visible_in_other_threads(self):
        going, go = threading.Event(), threading.Event()

        def work():
            with context.working(context.RequestContext(request_id='req-1'), 'there'):
                going.set()
                go.wait(waiting.LIMIT)
                return logged()

        with concurrent.futures.ThreadPoolExecutor(1, 'hand') as pool:
            there = pool.submit(work)
            self.assertTrue(going.wait(waiting.LIMIT))
            self.assertIsNone(logged())
            (task,) = context.tasks()
            self.assertIn('hand', task.thread)
            go.set()
            self.assertEqual('req-1', there.result())
