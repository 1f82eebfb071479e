# SPDX-License-Identifier: Apache-2.0
"""Which modes are set, with how many programs. Real copies are in tests/security/test_moves_of_all_files.py."""

import testtools

from manila_lite.host_copy import special_files


class Changes(testtools.TestCase):
    def test_files_of_one_mode_share_a_program_whatever_their_names(self):
        self.assertEqual(
            [
                ('chmod', '4660', '--', '/target/-rf', '/target/a b\n'),
                ('chmod', '600', '--', '/target/\udcff'),
            ],
            list(special_files.changes([b'4660 -rf', b'600 \xff', b'4660 a b\n'])),
        )
        self.assertEqual([], list(special_files.changes([])))

    def test_arguments_of_a_program_and_kept_names_are_limited(self):
        made = list(special_files.changes(b'600 ' + b'x' * 4000 for _ in range(1000)))
        self.assertEqual(1000, sum(len(words) - 3 for words in made))
        self.assertGreater(1 << 20, max(sum(map(len, words)) for words in made))
        kept = special_files.changes(b'%o ' % (number % 4096) + b'x' * 4000 for number in range(1 << 40))
        self.assertEqual(4, len(next(kept)), 'one file of the first mode: not all names are kept')
