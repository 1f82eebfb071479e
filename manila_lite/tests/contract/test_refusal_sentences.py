# SPDX-License-Identifier: Apache-2.0
"""The page of refusals has each error code, and is made of the answers of tests."""

import csv
import fnmatch
import json
import pathlib
import subprocess
import sys

import fixtures
import testtools

from manila_lite.tests import refusals
from manila_lite.tests.contract import noted
from manila_lite.tests.unit.api.http import test_hints

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = ROOT / 'tools' / 'refusal_sentences.py'
ROWS = TOOL.with_suffix('.tsv')

#: Codes without a row, each with the reason.
_ABSENT = {
    'changed_meanwhile': 'a race with a deletion, on databases that check foreign keys; see unit/api/http/test_faults.py',
    'no_virtiofs': 'a host without virtiofs, which the fake driver of tests always has',
    'already_there': 'a share that is at its destination has moved; only evacuations get it, which look for another one',
    'share_not_exported': 'an available share that the share service shows without export locations',
    'not_found': 'each raise has the code of its resource type',
    'over_quota_of_replicas': 'each raise has the code of its quota',
    'over_limit': 'each raise has the code of its limit',
    'plugin_not_found': 'of the data-processing API, whose form has no codes',
    'plugin_version_not_found': 'of the data-processing API, whose form has no codes',
}
#: Codes that are composed of parts, as patterns.
_COMPOSED = ('over_quota_*', 'over_limit_*', '*_not_found', '*_denied')


class Rows(testtools.TestCase):
    """The rows beside the source."""

    def setUp(self):
        super().setUp()
        with ROWS.open() as stream:
            self.rows = list(csv.DictReader(stream, dialect='excel-tab'))
        self.codes = {row['code'] for row in self.rows}

    def test_each_error_code_has_a_row_or_a_reason(self):
        known = test_hints.every_code()
        self.assertEqual([], sorted(known - self.codes - set(_ABSENT)),
                         'run a test that gets it, see tools/refusal_sentences.py, or name the reason here')
        self.assertEqual([], sorted(set(_ABSENT) & self.codes), 'take them out of _ABSENT')
        self.assertEqual([], sorted(set(_ABSENT) - known), 'there is no such code')

    def test_no_row_has_a_removed_error_code(self):
        known = test_hints.every_code()
        self.assertEqual([], sorted(code for code in self.codes - known
                                    if not any(fnmatch.fnmatchcase(code, pattern) for pattern in _COMPOSED)))

    def test_each_message_is_a_sentence_without_ids(self):
        for row in self.rows:
            self.assertRegex(row['message'], r'(?s)^\S.* .*[.)]$', row)
            self.assertEqual(row['message'], refusals.general(row['message']), row)
            self.assertIn(row['caller'], (*refusals.ROLES, 'other', 'none'))


class Tool(testtools.TestCase):
    """Rows from made-up notes."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.rows = self.folder.parent / f'{self.folder.name}.tsv'
        self.addCleanup(self.rows.unlink, missing_ok=True)

    def made(self, *words, **messages):
        """Return the messages by code and caller after a run on notes of these messages by code."""
        lines = [json.dumps({'code': code, 'caller': 'member', 'status': 409, 'message': message, 'next': 'Wait.'})
                 for code, found in messages.items() for message in found]
        (self.folder / 'notes').write_text('\n'.join(lines))
        subprocess.run([sys.executable, str(TOOL), *words, '--rows', str(self.rows), str(self.folder)], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        with self.rows.open() as stream:
            return {row['code']: row['message'] for row in csv.DictReader(stream, dialect='excel-tab')}

    def test_shortest_message_is_kept(self):
        self.assertEqual({'a': 'It is so.'}, self.made(a=['It is so, too.', 'It is so.', 'Is it so? Yes.']))

    def test_rows_without_a_note_are_kept_unless_only_is_given(self):
        self.made(a=['An a.'], b=['A b.'])
        self.assertEqual({'a': 'Another.', 'b': 'A b.'}, self.made(a=['Another.']))
        self.assertEqual({'a': 'Another.'}, self.made('--only', a=['Another.']))


class Notes(testtools.TestCase):
    """Answers of the API in a test leave notes."""

    def test_ids_and_counts_are_replaced_but_versions_and_addresses_are_kept(self):
        resource_id = '7f1c2e4a-2f0e-4a63-9b6b-0d6f2d1f5c11'
        self.assertEqual('Share ID has N snapshots, from 2.49 on, for 10.0.0.0/24; N.',
                         refusals.general(f'Share {resource_id} has 12 snapshots, from 2.49 on, for 10.0.0.0/24; 3.'))

    def test_a_note_has_the_caller_and_the_next_step(self):
        name = 'manila_lite.tests.functional.test_refused_transfers.Offered.test_wrong_auth_key_is_refused'
        notes = noted.notes(self, refusals.SENTENCES, name)
        found, = (note for note in notes if note['code'] == 'wrong_auth_key')
        self.assertEqual((400, 'member', 'auth_key: is not the key of transfer ID.'),
                         (found['status'], found['caller'], found['message']))
        self.assertIn('Ask the owner', found['next'])
