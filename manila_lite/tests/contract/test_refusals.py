# SPDX-License-Identifier: Apache-2.0
"""tools/refusals.py finds every guard, and reports those that refused in no test."""

import json
import pathlib
import subprocess
import sys

import fixtures
import testtools

from manila_lite.tests import refusals, waiting
from manila_lite.tests.contract import noted

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = ROOT / 'tools' / 'refusals.py'
ACTIONS = ROOT / 'manila_lite' / 'actions'


class RefusalsTest(testtools.TestCase):
    """Reports of the tool on made-up notes."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def told(self, *words):
        """Return the exit code and the output lines of the tool."""
        done = subprocess.run([sys.executable, str(TOOL), *words, str(self.folder)], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=waiting.LIMIT, check=False)
        self.assertEqual('', done.stderr)
        return done.returncode, done.stdout.splitlines()

    def note(self, words, file='share_guards.py', test='a.b.c', status=403, code='share_has_backups', message='x'):
        """Write a note that a test reached the line with these words."""
        line = next(number for number, text in enumerate((ACTIONS / file).read_text().splitlines(), 1) if words in text)
        with (self.folder / 'notes').open('a') as stream:
            stream.write(json.dumps({'file': file, 'line': line, 'status': status, 'code': code, 'message': message,
                                     'test': test}) + '\n')
        return f'manila_lite/actions/{file}:{line}: '

    def test_all_guards_are_reported_without_notes(self):
        code, lines = self.told()
        self.assertEqual(1, code)
        explained = 4
        count = sum(line.strip().startswith('raise ') and line.strip() != 'raise' for path in ACTIONS.glob('*.py')
                    for line in path.read_text().splitlines())
        named = [line for line in lines if ': raise ' in line]
        self.assertTrue(count - explained <= len(named) <= count, (count, len(named)))
        self.assertRegex(lines[-1], '^[0-9]+ of [0-9]+ guards of actions/ have no refusal in a test$')

    def test_guard_that_refused_in_a_test_is_not_reported(self):
        _, before = self.told()
        place = self.note("raise errors.Forbidden(f'Share {share_id} has {errors.count(count, \"backup\")}")
        code, after = self.told()
        self.assertEqual(1, code)
        self.assertEqual([place], [f'{line.rpartition(": raise")[0]}: ' for line in before[:-1] if line not in after])
        self.assertEqual(int(before[-1].split()[0]) - 1, int(after[-1].split()[0]))

    def test_call_that_only_refuses_counts_as_a_guard(self):
        place = self.note('    share_guards.must_have_no_backups(conn, share.id)', 'share_bin.py')
        self.assertFalse([line for line in self.told()[1] if line.startswith(place)])
        self.assertTrue([line for line in self.told()[1] if 'transitions.begin(conn, states.SHARE, verb' in line])

    def test_guard_is_reported_if_no_test_names_status_and_message(self):
        place = self.note("raise errors.Forbidden(f'Share {share_id} has {errors.count(count, \"backup\")}")
        [said] = [line for line in self.told('--words')[1] if line.startswith(place)]
        self.assertIn('no test names status and words', said)
        self.note("raise errors.Forbidden(f'Share {share_id} has {errors.count(count, \"backup\")}",
                  message='Share y has 1 backup; delete it first.',
                  test='manila_lite.tests.functional.test_refused_ways_out.Going.test_share_with_backups_cannot_be_deleted_unmanaged_or_transferred')
        self.assertFalse([line for line in self.told('--words')[1] if line.startswith(place)])

    def test_exemption_of_a_guard_that_refused_in_a_test_is_reported(self):
        place = self.note("raise errors.WrongState(f'Share {share_id} was restored.')", 'shares.py')
        self.assertIn('take it out of EXPLAINED', next(line for line in self.told()[1] if line.startswith(place)))


class NotesTest(testtools.TestCase):
    """A refused request in a test leaves a note."""

    def test_note_has_the_test_file_status_and_code(self):
        name = 'manila_lite.tests.functional.test_refused_transfers.Offered.test_wrong_auth_key_is_refused'
        notes = noted.notes(self, refusals.FOLDER, name)
        self.assertIn(('share_transfers.py', 400, 'wrong_auth_key', name),
                      [(note['file'], note['status'], note['code'], note['test']) for note in notes])
