# SPDX-License-Identifier: Apache-2.0
"""The tables of states are closed: no status is a dead end or unreachable, and each verb is used."""

import pathlib
import re

import testtools

import manila_lite
from manila_lite import states

SOURCE = pathlib.Path(manila_lite.__file__).parent

#: Statuses that clients of the API know and that a verb may start from, though nothing here leads to them: a database
#: taken over from elsewhere may hold them, and an administrator must be able to delete such rows.
KNOWN_ONLY = {'share': {'creating_from_snapshot', 'inactive'}}


def ends(verb):
    return {status for status in (verb.ok, verb.fail) if status}


def reachable(machine):
    """Return every status that verbs or an administrator's reset can set."""
    found = {*machine.resettable, *([machine.born] if machine.born else [])}
    while True:
        more = {
            status
            for verb in machine.verbs.values()
            if not verb.allowed or verb.allowed & found
            for status in {verb.during} | ends(verb)
        }
        if more <= found:
            return found
        found |= more


class Tables(testtools.TestCase):
    def test_every_machine_is_listed(self):
        listed = {id(machine) for machine in states.MACHINES.values()}
        self.assertEqual(
            listed, {id(value) for value in vars(states).values() if isinstance(value, states.StateMachine)}
        )
        for resource_type, machine in states.MACHINES.items():
            self.assertEqual(resource_type, machine.resource_type)

    def test_verbs_with_the_same_transient_status_end_alike(self):
        """Two verbs with the same transient status (delete and force_delete) end alike, for their half-done work is the
        same. An exception is a verb that is resumed: its operation tells which verb it is.
        """
        for machine in states.MACHINES.values():
            for verb in machine.verbs.values():
                for other in machine.verbs.values():
                    if other.during == verb.during and not verb.crash is other.crash is states.Crash.RESUME:
                        self.assertEqual(
                            (verb.ok, verb.fail, verb.crash),
                            (other.ok, other.fail, other.crash),
                            f'{machine.resource_name}: {verb.name} and {other.name}',
                        )

    def test_no_verb_ends_in_its_transient_status(self):
        for machine in states.MACHINES.values():
            for verb in machine.verbs.values():
                self.assertNotIn(verb.during, ends(verb), f'{machine.resource_name}: {verb.name}')

    def test_no_final_status_is_the_transient_status_of_a_verb(self):
        """A status in which nothing runs is not the transient status of another verb."""
        for machine in states.MACHINES.values():
            for verb in machine.verbs.values():
                self.assertEqual(
                    set(), ends(verb) & machine.transient, f'{machine.resource_name}: {verb.name}'
                )

    def test_every_status_is_reachable(self):
        for resource_type, machine in states.MACHINES.items():
            self.assertEqual(
                KNOWN_ONLY.get(resource_type, set()), machine.statuses - reachable(machine), resource_type
            )

    def test_resettable_statuses_are_statuses_of_their_machine(self):
        for machine in states.MACHINES.values():
            self.assertLessEqual(machine.resettable, machine.statuses)
        self.assertLessEqual(
            {'available', 'error', 'error_deleting'}, states.SHARE.resettable & states.SNAPSHOT.resettable
        )
        self.assertEqual(frozenset(), states.ACCESS.resettable)

    def test_every_resting_status_has_a_removing_verb(self):
        """Every status in which nothing runs has a verb that removes the row, unless removing rows takes no verb."""
        for machine in states.MACHINES.values():
            if machine.born:
                continue
            removing = [verb for verb in machine.verbs.values() if verb.ok is None]
            resting = {status for verb in machine.verbs.values() for status in ends(verb)}
            for status in resting:
                self.assertTrue(
                    any(status in verb.allowed for verb in removing), f'{machine.resource_name}: {status}'
                )

    def test_every_status_can_be_removed_or_reset_by_an_administrator(self):
        """From any status a verb that removes the row can start, or runs already, or can start after a reset."""
        for machine in states.MACHINES.values():
            removing = [verb for verb in machine.verbs.values() if verb.ok is None]
            for status in machine.statuses:
                self.assertTrue(
                    machine.resettable
                    or any(status in verb.allowed or status == verb.during for verb in removing),
                    f'{machine.resource_name}: {status}',
                )

    def test_machine_has_either_a_create_verb_or_an_initial_status(self):
        for machine in states.MACHINES.values():
            self.assertEqual(machine.born is None, 'create' in machine.verbs, machine.resource_name)
            self.assertNotIn(machine.born, machine.transient)

    def test_every_verb_has_its_crash_behaviour(self):
        for machine in states.MACHINES.values():
            for verb in machine.verbs.values():
                self.assertIsInstance(verb.crash, states.Crash)


class Used(testtools.TestCase):
    def test_every_verb_is_used_in_code(self):
        text = '\n'.join(
            path.read_text()
            for path in SOURCE.rglob('*.py')
            if 'tests' not in path.parts and path.name != 'states.py'
        )
        for machine in states.MACHINES.values():
            for verb in set(machine.verbs) - {'create'}:
                self.assertTrue(
                    re.search(f"'{verb}'", text), f'{machine.resource_name}: nothing says {verb!r}'
                )
            created = rf'transitions\.create\(\s*conn,\s*states\.{_constant(machine)}\b'
            self.assertTrue(re.search(created, text), f'nothing matches {created}')


def _constant(machine):
    return next(name for name, value in vars(states).items() if value is machine)
