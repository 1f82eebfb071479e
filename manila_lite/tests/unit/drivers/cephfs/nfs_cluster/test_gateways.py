# SPDX-License-Identifier: Apache-2.0
"""Gateways that follow changes, and gateways that do not."""

from unittest import mock

import testtools

from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.nfs_cluster import gateways
from manila_lite.drivers.cephfs.nfs_cluster.exports import Exports
from manila_lite.drivers.cephfs.volumes.evictions import Evictions
from manila_lite.drivers.cephfs.volumes.sessions import Session
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume
from manila_lite.tests.unit.drivers.cephfs.nfs_cluster.module import Cluster

ONE, TWO, RO = (('10.0.0.1',), 'rw'), (('10.0.0.2',), 'rw'), (('10.0.0.3',), 'ro')


class Subvolumes:
    """The subvolume of the share, with its marks."""

    def __init__(self):
        self.marks = {}

    def get(self, name, path='/volumes/x'):
        return Subvolume(name, path, None, 0, 'data', dict(self.marks))

    def ask(self, verb, name):
        return [] if verb == 'authorized_list' else dict(self.marks)

    def mark(self, name, key, value):
        self.marks[key] = value

    def unmark(self, name, key):
        del self.marks[key]


class Sessions:
    """The sessions of gateways, by machine; a deaf gateway has those of the exports that it had when it went deaf."""

    can_be_asked_for = True

    def __init__(self, cluster, *machines):
        self._cluster = cluster
        self.machines = list(machines)
        self.deaf, self.stale = {}, set()
        self.ended, self._known = [], []

    def silence(self, machine):
        self.deaf[machine] = self._users()

    def _users(self):
        return {told['fsal']['user_id'] for told in self._cluster.exports.values()}

    def of(self, user):
        return [
            Session('a:0', self._number(user, machine), machine, '/volumes/x', machine in self.stale)
            for machine in self.machines
            if user in self.deaf.get(machine, self._users()) and (user, machine) not in self.ended
        ]

    def are_any(self, user):
        return bool(self.of(user))

    def _number(self, *whose):
        if whose not in self._known:
            self._known.append(whose)
        return self._known.index(whose)

    def end(self, sessions):
        self.ended += [self._known[session.number] for session in sessions]

    def evict(self, user):
        self.end(self.of(user))


def session(rank, number, machine):
    return Session(f'a:{rank}', number, machine, '/volumes/x')


class GatewaysTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.patch(gateways, '_FOLLOW', 0.1)
        self.patch(gateways, '_LET_GO', 0.1)
        self.cluster = Cluster()
        self.sessions = Sessions(self.cluster, 'north', 'south')
        self.subvolumes = Subvolumes()
        self.evictions = Evictions(self.cluster, self.subvolumes, self.sessions)
        self.gateways = gateways.Gateways(Exports(self.cluster, 'c', 'a'), self.sessions, self.evictions)

    def serve(self, *clients, pseudo='/shares/x', path='/volumes/x'):
        return self.gateways.serve('x', self.subvolumes.get('x', path), pseudo, clients)

    def defects(self, *clients):
        return self.gateways.defects_of(self.subvolumes.get('x'), '/shares/x', clients)

    def served(self):
        return {
            pseudo: tuple((tuple(client['addresses']), client['access_type']) for client in told['clients'])
            for pseudo, told in self.cluster.exports.items()
        }

    def test_new_export_is_new_once_and_leaves_no_witness(self):
        self.assertTrue(self.serve(ONE))
        self.assertFalse(self.serve(ONE, TWO))
        self.assertEqual({'/shares/x': (ONE, TWO)}, self.served())
        self.assertEqual([], self.sessions.ended)

    def test_export_that_no_gateway_serves_is_away_also_the_next_time(self):
        self.sessions.machines = []
        for _ in range(2):
            self.assertIn('No gateway', str(self.assertRaises(Away, self.serve)))

    def test_somebody_can_be_shut_out_while_no_gateway_runs(self):
        self.serve(ONE)
        self.sessions.machines = []
        self.serve()
        self.assertEqual({'/shares/x': ()}, self.served())

    def test_deaf_gateway_loses_the_export_when_somebody_loses_access(self):
        for before, after in (
            ((ONE, TWO), (TWO,)),
            ((ONE,), ()),
            ((TWO, ONE), (ONE, TWO, RO)),
            ((ONE,), (RO,)),
        ):
            self.sessions.ended, self.sessions.deaf = [], {}
            self.gateways.forget('x', '/shares/x')
            self.serve(*before)
            self.sessions.silence('south')
            number = self.cluster.exports['/shares/x']['export_id']
            self.serve(*after)
            self.assertEqual(['south'], [machine for _, machine in self.sessions.ended], (before, after))
            self.assertEqual({'/shares/x': after}, self.served())
            self.assertNotEqual(
                number, self.cluster.exports['/shares/x']['export_id'], 'the gateway knows the key'
            )

    def test_somebody_is_shut_out_also_if_the_only_gateway_was_killed(self):
        self.sessions.machines = ['south']
        self.serve(ONE)
        self.sessions.silence('south')
        self.serve()
        self.assertEqual({'/shares/x': ()}, self.served())
        self.assertEqual([], self.defects())
        self.assertRaises(Away, self.serve, ONE)

    def test_gateway_that_has_ended_delays_nobody_and_the_export_stays(self):
        self.serve(ONE)
        self.sessions.silence('south')
        self.sessions.stale = {'south'}
        number = self.cluster.exports['/shares/x']['export_id']
        self.serve(ONE, TWO)
        self.assertEqual([], self.sessions.ended)
        self.serve(TWO)
        self.assertEqual(['south'], [machine for _, machine in self.sessions.ended])
        self.assertEqual(number, self.cluster.exports['/shares/x']['export_id'])

    def test_deaf_gateway_keeps_the_export_when_somebody_gets_access(self):
        self.serve(ONE)
        self.sessions.silence('south')
        self.serve(ONE, TWO)
        self.assertEqual([], self.sessions.ended)

    def test_change_that_was_interrupted_is_finished_whatever_comes_next(self):
        self.serve(ONE)
        self.sessions.silence('south')
        with mock.patch.object(self.gateways, '_follow', side_effect=Away('killed')):
            self.assertRaises(Away, self.serve)
        self.assertEqual(1, len(self.defects()))
        self.serve(TWO)
        self.assertEqual(['south'], [machine for _, machine in self.sessions.ended])
        self.assertEqual([], self.defects(TWO))

    def test_export_that_was_open_to_all_is_closed(self):
        self.serve(ONE)
        self.cluster.exports['/shares/x']['access_type'] = 'rw'
        self.assertEqual(1, len(self.defects(ONE)))
        self.sessions.silence('south')
        self.serve(ONE, TWO)
        self.assertEqual(['south'], [machine for _, machine in self.sessions.ended])

    def test_of_two_gateways_on_a_machine_both_lose_the_export_if_one_is_deaf(self):
        sessions = [session(0, 1, 'm'), session(0, 2, 'm'), session(1, 2, 'm'), session(0, 3, 'n')]
        self.assertEqual(
            [], gateways._late(sessions, [session(0, 7, 'm'), session(0, 8, 'm'), session(0, 9, 'n')])
        )
        self.assertEqual(
            sessions[:3],
            gateways._late(sessions, [session(0, 7, 'm'), session(1, 7, 'm'), session(0, 9, 'n')]),
        )

    def test_export_of_another_directory_is_made_anew(self):
        self.serve(ONE, path='/volumes')
        number = self.cluster.exports['/shares/x']['export_id']
        self.assertEqual(1, len(self.defects(ONE)))
        self.serve(ONE)
        self.assertNotEqual(number, self.cluster.exports['/shares/x']['export_id'])
        self.assertEqual([], self.defects(ONE))

    def test_export_that_cannot_be_changed_is_made_anew(self):
        self.serve(ONE)
        self.cluster.exports['/shares/x']['fsal']['user_id'] = 'gone'
        self.serve(ONE, TWO)
        self.assertEqual({'/shares/x': (ONE, TWO)}, self.served())
        self.assertNotEqual('gone', self.cluster.exports['/shares/x']['fsal']['user_id'])

    def test_forgotten_export_and_its_witness_are_removed(self):
        self.serve(ONE)
        self.serve(pseudo='/manila_lite/x')
        self.gateways.forget('x', '/shares/x')
        self.gateways.forget('x', '/shares/x')
        self.assertEqual({}, self.cluster.exports)

    def test_gateway_that_comes_back_by_its_former_id_is_shut_out_again_and_others_are_not(self):
        self.serve(ONE)
        former = self.cluster.exports['/shares/x']['fsal']['user_id']
        self.sessions.silence('south')
        self.serve()
        self.sessions.ended = []  # the cluster forgets it
        self.evictions.keep_out()
        self.assertEqual([(former, 'south')], self.sessions.ended)

    def test_gateway_that_keeps_a_removed_export_loses_it(self):
        self.serve(ONE)
        self.sessions.silence('south')
        self.gateways.forget('x', '/shares/x')
        self.assertEqual(['south'], [machine for _, machine in self.sessions.ended])
