# SPDX-License-Identifier: Apache-2.0
"""The note of the ids that may have access, and what a manager answers that was dead in between."""

import errno

import testtools

from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.volumes.auth_ids import AuthIds, noted


class Subvolumes:
    """The marks of one subvolume, and the answers to the next commands."""

    def __init__(self, *answers):
        self.marks, self.asked, self.named, self._answers = {}, [], [], list(answers)

    def ask(self, verb, name, **arguments):
        self.asked.append(verb)
        self.named.append((verb, name, arguments.get('access_level')))
        if number := self._answers.pop(0):
            raise Refused(verb, number, '')

    def mark(self, name, key, value):
        self.asked.append('mark')
        self.marks[key] = value

    def unmark(self, name, key):
        self.asked.append('unmark')
        del self.marks[key]


class Ids(testtools.TestCase):
    def test_note_is_written_only_when_it_changes_and_deleted_when_it_is_empty(self):
        there = Subvolumes()
        ids = AuthIds(there)
        for now, done in (
            (set(), []),
            ({'a', 'b'}, ['mark']),
            ({'b', 'a'}, []),
            ({'a'}, ['mark']),
            (set(), ['unmark']),
        ):
            there.asked.clear()
            ids.note('s', noted(there.marks), now)
            self.assertEqual((now, done), (noted(there.marks), there.asked))

    def test_id_that_is_out_already_is_no_error(self):
        AuthIds(Subvolumes(errno.ENOENT)).shut_out('s', 'a')

    def test_manager_that_deletes_a_stale_record_is_asked_once_more(self):
        there = Subvolumes(errno.EINVAL, errno.ENOENT)
        AuthIds(there).shut_out('s', 'a')
        self.assertEqual(['deauthorize'] * 2, there.asked)

    def test_other_refusals_are_errors(self):
        for answers in ((errno.EINVAL, errno.EINVAL), (errno.EPERM,)):
            self.assertRaises(Refused, AuthIds(Subvolumes(*answers)).shut_out, 's', 'a')

    def test_id_that_is_shut_out_stays_usable_where_it_is_open(self):
        there = Subvolumes(0, 0, 0, 0, errno.ENOENT, 0, 0)
        ids = AuthIds(there)
        for name, level in (('s', 'rw'), ('gone', 'rw'), ('other', 'r')):
            ids.let_in(name, 'a', level, 'p')
        there.named.clear()
        ids.shut_out('s', 'a')
        self.assertEqual(
            [('deauthorize', 's', None), ('authorize', 'gone', 'rw'), ('authorize', 'other', 'r')],
            there.named,
        )
        there.named.clear()
        ids.shut_out('other', 'a')
        self.assertEqual([('deauthorize', 'other', None)], there.named)
