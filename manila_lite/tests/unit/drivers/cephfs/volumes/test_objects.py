# SPDX-License-Identifier: Apache-2.0
"""When objects of shares that were deleted are removed, and what is told of strange ones."""

import threading
import time
from concurrent import futures

import testtools

from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.cluster.objects import NotAllowed
from manila_lite.drivers.cephfs.volumes import later, objects
from manila_lite.tests import waiting


class Notes(later.Later):
    """Notes in an object of this process."""

    def __init__(self):
        super().__init__(None, None, 'host')
        self._objects = self
        self.content, self.is_denied = None, False

    def get(self, name):
        if self.is_denied:
            raise NotAllowed('x')
        return self.content

    def put(self, name, content):
        self.content = content


class Known(objects.Objects):
    """Objects of namespaces: what the program would answer."""

    def __init__(self, notes):
        super().__init__(self, None, None, None)
        self._later = notes
        self.answers, self.asked, self.ttl = {}, [], 100
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def monitor(self, prefix, **arguments):
        return self.ttl

    def _ask(self, verb, seconds, namespaces=()):
        self.asked.append((verb, *namespaces))
        self.begun.set()
        self.go_on.wait(waiting.LIMIT)
        if isinstance(self.answers, Exception):
            raise self.answers
        if verb == 'count' or self.answers is None:
            return self.answers
        return {name: self.answers.get(name, 0) for name in namespaces}


class ObjectsTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.notes = Notes()
        self.objects = Known(self.notes)

    def delete(self, namespace):
        """Do what the deletion of a share does."""
        self.objects.plan(namespace)
        self.objects.remove(namespace)

    def test_they_go_with_the_share_and_once_more_when_its_tickets_have_ended_also_after_a_restart(self):
        self.objects.ttl = 0
        self.delete('fsvolumens_a')
        after = Known(self.notes)
        for _ in range(2):
            after.keep_up()
        self.assertEqual([[('remove', 'fsvolumens_a')]] * 2, [self.objects.asked, after.asked])
        self.assertEqual({}, self.notes.all())

    def test_not_before(self):
        began = time.time()
        self.delete('fsvolumens_a')
        self.objects.keep_up()
        self.assertEqual(1, len(self.objects.asked))
        self.assertLess(began + 299, self.notes.all()['fsvolumens_a'])

    def test_those_of_a_namespace_in_use_are_looked_for_a_day_later(self):
        self.objects.ttl, self.objects.answers = 0, {'fsvolumens_a': None}
        self.delete('fsvolumens_a')
        for _ in range(2):
            self.objects.keep_up()
        self.assertEqual(2, len(self.objects.asked))
        self.assertAlmostEqual(86400, self.notes.all()['fsvolumens_a'] - time.time(), delta=300)

    def test_the_report_waits_for_no_deletion_that_takes_long(self):
        self.notes.add('fsvolumens_a', 1.0)
        self.objects.go_on.clear()
        deletion = threading.Thread(target=self.delete, args=('fsvolumens_long',))
        deletion.start()
        self.objects.begun.wait(waiting.LIMIT)
        self.objects.keep_up()
        self.objects.go_on.set()
        deletion.join(waiting.LIMIT)
        self.objects.keep_up()
        self.assertEqual([('remove', 'fsvolumens_long'), ('remove', 'fsvolumens_a')], self.objects.asked)

    def test_what_is_noted_anew_meanwhile_stays_noted(self):
        self.notes.add('fsvolumens_a', 1.0)
        self.notes.add('fsvolumens_b', 1.0)
        before = self.notes.all()
        self.notes.add('fsvolumens_a', 2.0)
        self.notes.replace(before, {'fsvolumens_a': 3.0})
        self.assertEqual({'fsvolumens_a': 2.0}, self.notes.all())

    def test_no_other_namespace_is_touched(self):
        for name in ('', 'fsvolumen', 'other'):
            self.delete(name)
        self.assertEqual([], self.objects.asked)
        self.assertIsNone(self.notes.content)

    def test_shares_that_are_deleted_together_share_a_look(self):
        self.objects.go_on.clear()
        with futures.ThreadPoolExecutor(4) as executor:
            first = executor.submit(self.objects.remove, 'fsvolumens_a')
            self.objects.begun.wait(waiting.LIMIT)
            others = [executor.submit(self.objects.remove, f'fsvolumens_{name}') for name in 'bcd']
            waiting.until(lambda: len(self.objects._asked) == 4, 'all are asked for')
            self.objects.go_on.set()
            for one in (first, *others):
                one.result(waiting.LIMIT)
        self.assertEqual(
            [('remove', 'fsvolumens_a'), ('remove', 'fsvolumens_b', 'fsvolumens_c', 'fsvolumens_d')],
            self.objects.asked,
        )

    def test_failure_is_the_callers_and_a_lack_of_rights_is_a_problem(self):
        self.objects.answers = Away('x')
        self.assertRaises(Away, self.objects.remove, 'fsvolumens_a')
        self.objects.answers = None
        self.objects.remove('fsvolumens_a')
        self.assertIn('osd', ' '.join(self.objects.problems()))
        self.objects.answers = {}
        self.objects.remove('fsvolumens_a')
        self.assertEqual([], self.objects.problems())
        self.notes.is_denied = True
        self.objects.plan('fsvolumens_a')
        self.assertIn('osd', ' '.join(self.objects.problems()))

    def test_many_more_objects_than_cephfs_has_are_told(self):
        self.objects.answers = {'fsvolumens_a': 101, 'fsvolumens_b': 100, 'fsvolumens_c': -7, 'other': 9999}
        self.assertEqual({'fsvolumens_a': 101}, self.objects.count())
        [said] = self.objects.problems()
        self.assertIn('fsvolumens_a has 101 objects', said)
