# SPDX-License-Identifier: Apache-2.0
"""The mark of ids that lost their access, and what happens to their sessions until their tickets have ended."""

import time

import testtools

from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.volumes import evictions, subvolumes
from manila_lite.drivers.cephfs.volumes.evictions import Evictions, planned
from manila_lite.drivers.cephfs.volumes.sessions import Session
from manila_lite.drivers.cephfs.volumes.subvolumes import TO_EVICT, Subvolume

PATH = '/volumes/_nogroup/s/1'


class Cluster:
    """One subvolume with its marks and ids, and the sessions of ids."""

    can_be_asked_for = True

    def __init__(self):
        self.marks, self.ids, self.sessions, self.ended = {}, [], {}, []
        self.ticket = 100
        self.forged = ()

    def monitor(self, prefix, **arguments):
        if self.ticket is None:
            raise Refused(prefix, 13, '')
        return self.ticket

    def ask(self, verb, name, **arguments):
        return [{one: 'rw'} for one in self.ids] if verb == 'authorized_list' else dict(self.marks)

    def get(self, name):
        return Subvolume(name, PATH, None, 0, '', dict(self.marks))

    def mark(self, name, key, value):
        self.marks[key] = value

    def unmark(self, name, key):
        del self.marks[key]

    def of(self, auth_id):
        return self.sessions.get(auth_id, [])

    def is_surely_at_its_root(self, session):
        return session.root not in self.forged

    def end(self, sessions):
        self.ended += [session.number for session in sessions]

    def evict(self, auth_id):
        self.end(self.of(auth_id))


class Marks(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster()
        self.evictions = self.restarted()

    def restarted(self):
        return Evictions(self.cluster, self.cluster, self.cluster)

    def noted(self):
        return evictions._known(self.cluster.marks)

    def test_any_id_is_read_back_from_a_mark_of_plain_digits(self):
        self.evictions.plan('s', ['b%s\n[', 'a'])
        self.assertRegex(self.cluster.marks[TO_EVICT], '^[0-9a-f]+$')
        self.assertEqual({'a', 'b%s\n['}, planned(self.cluster.marks))
        self.assertEqual(frozenset(), planned({}))

    def test_mark_of_an_older_release_names_ids_to_evict(self):
        self.assertEqual({'a'}, planned({TO_EVICT: b'["a"]'.hex()}))

    def test_evicted_ids_are_noted_until_their_tickets_have_ended_as_the_cluster_says(self):
        self.evictions.plan('s', ['a', 'kept'])
        for ticket, life in ((100, 300), (None, 3 * 3600)):
            self.cluster.ticket = ticket
            began = time.time()
            self.evictions.done('s', {'a'}, {'kept'})
            self.assertEqual({'a'}, set(self.noted()))
            lasts = self.noted()['a'] - life
            self.assertTrue(began - 10 <= lasts <= time.time() + 10, (began, lasts))
        self.assertEqual(frozenset(), planned(self.cluster.marks))

    def test_sessions_of_an_id_without_a_rule_end_if_they_are_about_the_subvolume(self):
        self.evictions.done('s', {'a', 'b'})
        for name, first in (('a', 1), ('b', 4)):
            self.cluster.sessions[name] = [
                Session('a:0', number, 'm', root)
                for number, root in enumerate((PATH, f'{PATH}/below', f'{PATH}0'), first)
            ]
        self.cluster.ids = ['b']
        self.evictions.keep_out()
        self.assertEqual([1, 2], self.cluster.ended)

    def test_session_that_is_not_surely_elsewhere_ends(self):
        self.evictions.done('s', {'a'})
        self.cluster.forged = ('/volumes/_nogroup/forged/1',)
        self.cluster.sessions['a'] = [
            Session('a:0', number, 'm', root)
            for number, root in enumerate(
                ('', '/', '/volumes', *self.cluster.forged, '/volumes/_nogroup/other/1'), 1
            )
        ]
        self.evictions.keep_out()
        self.assertEqual([1, 2, 3, 4], self.cluster.ended)

    def test_all_sessions_end_once_when_the_tickets_have_ended_also_after_a_restart(self):
        self.evictions.done('s', {'a'})
        self.cluster.sessions['a'] = [Session('a:0', 1, 'm', '/volumes/other')]
        self.cluster.ids = ['a']
        self.cluster.marks[TO_EVICT] = subvolumes.text_of({'a': time.time() - 1})
        restarted = self.restarted()
        restarted.keep_out()
        self.assertEqual([], self.cluster.ended)
        restarted.follow(self.cluster.get('s'))
        for _ in range(2):
            restarted.keep_out()
            self.assertEqual(([1], {}), (self.cluster.ended, self.cluster.marks))

    def test_nobody_is_looked_for_while_a_metadata_server_is_away(self):
        self.evictions.done('s', {'a'})
        self.cluster.sessions['a'] = [Session('a:0', 1, 'm', PATH)]
        self.cluster.can_be_asked_for = False
        self.evictions.keep_out()
        self.assertEqual([], self.cluster.ended)
