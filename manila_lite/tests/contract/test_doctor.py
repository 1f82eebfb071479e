# SPDX-License-Identifier: Apache-2.0
"""Operations that the doctor begins again are those of the verbs, and workers know them."""

import testtools

from manila_lite import states
from manila_lite.actions import share_server_updates
from manila_lite.db.queries import access
from manila_lite.doctor import share_servers
from manila_lite.doctor.recovery_table import REDO
from manila_lite.manager.runtime import service as manager
from manila_lite.scheduler import service as scheduler


class RedoTest(testtools.TestCase):
    def test_every_transient_status_has_an_operation_to_redo(self):
        ended_with_the_server = {
            states.SHARE[verb].during for verb in ('server_migrate', 'migrate', 'promote')
        }
        second = {states.SHARE['receive'].during}
        ended_with_others = {states.SHARE[verb].during for verb in ('ensure', 'back_up', 'take_back')}
        self.assertEqual(
            states.SHARE.transient - ended_with_the_server - ended_with_others - second,
            set(REDO[states.SHARE.resource_type]),
        )
        ended_with_the_share = {states.SNAPSHOT['restore'].during}
        self.assertEqual(
            states.SNAPSHOT.transient - ended_with_the_share - ended_with_the_server,
            set(REDO[states.SNAPSHOT.resource_type]),
        )

    def test_verb_to_redo_has_the_transient_status(self):
        for resource_type, found in REDO.items():
            for status, redo in found.items():
                self.assertEqual(status, states.MACHINES[resource_type][redo.verb].during)

    def test_operations_to_redo_have_plans_in_workers(self):
        backends = {plan.kind for plan in manager.PLANS}
        schedulers = {plan.kind for plan in scheduler.PLANS}
        self.assertIn(access.SYNC, backends)
        for found in REDO.values():
            for redo in found.values():
                self.assertIn(redo.kind, backends)
                if redo.without_host or redo.verb == 'extend':
                    self.assertIn(redo.kind, schedulers)

    def test_deletion_is_not_redone_for_a_manually_set_status(self):
        for resource_type, found in REDO.items():
            for status, redo in found.items():
                if redo.verb == 'delete':
                    self.assertIn(status, states.MACHINES[resource_type].resettable)
                    self.assertFalse(redo.proof(None, None))


class RedoServersTest(testtools.TestCase):
    def test_every_transient_status_has_an_operation_to_redo(self):
        self.assertEqual(states.SHARE_SERVER.transient, set(share_servers.REDO))

    def test_verbs_match_their_status_and_operations_have_plans(self):
        known = {plan.kind for plan in manager.PLANS}
        for status, redo in share_servers.REDO.items():
            self.assertEqual(status, states.SHARE_SERVER[redo.verb].during)
            self.assertTrue(set(redo.kinds) <= known, redo.kinds)

    def test_network_change_is_redone_by_every_update_operation(self):
        self.assertEqual(set(share_server_updates.DOING), set(share_servers.REDO['network_change'].kinds))
