# SPDX-License-Identifier: Apache-2.0
"""Properties that are computed once for each object, in several threads."""

import threading

import testtools

from manila_lite.drivers.cephfs.computed_once import computed_once
from manila_lite.tests import waiting


class Backend:
    """A backend with a cluster that answers after ``may_answer``."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    @computed_once
    def filesystem(self):
        """The name of the file system."""
        self.asked += 1
        self.is_asked.set()
        self.may_answer.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class ComputedOnceTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.slow, self.quick = Backend(['slow']), Backend(['quick'])
        self.quick.may_answer.set()
        self.addCleanup(self.slow.may_answer.set)
        self.got = []

    def ask(self, backend):
        asking = threading.Thread(target=lambda: self.got.append(backend.filesystem), daemon=True)
        asking.start()
        return asking

    def test_an_object_that_waits_holds_up_no_other(self):
        self.ask(self.slow)
        self.assertTrue(self.slow.is_asked.wait(waiting.LIMIT))
        self.ask(self.quick)
        waiting.until(lambda: self.got, 'the other cluster is asked')
        self.assertEqual([['quick']], self.got)

    def test_threads_get_one_value_of_an_object(self):
        threads = [self.ask(self.slow) for _ in range(5)]
        self.assertTrue(self.slow.is_asked.wait(waiting.LIMIT))
        self.slow.may_answer.set()
        for one in threads:
            one.join(waiting.LIMIT)
        self.assertEqual(
            (1, 5, {id(self.slow.filesystem)}), (self.slow.asked, len(self.got), {*map(id, self.got)})
        )

    def test_an_error_is_not_kept(self):
        self.quick.answer = ZeroDivisionError()
        self.assertRaises(ZeroDivisionError, lambda: self.quick.filesystem)
        self.quick.answer = 'there'
        self.assertEqual('there', self.quick.filesystem)
        self.assertEqual('The name of the file system.', Backend.filesystem.__doc__)
