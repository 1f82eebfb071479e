# SPDX-License-Identifier: Apache-2.0
"""Command lines for a node's shell: exactly the given words, with any characters."""

import subprocess

import testtools
from hypothesis import given, settings
from hypothesis import strategies as st

from manila_lite import errors
from manila_lite.siblings.dataproc.remote import command_line
from manila_lite.tests import waiting

_WORDS = st.lists(st.text(st.characters(blacklist_characters='\0', blacklist_categories=['Cs'])), max_size=3)


class CommandLine(testtools.TestCase):
    @settings(max_examples=20, deadline=None, database=None)
    @given(_WORDS)
    def test_shell_passes_arguments_unchanged(self, words):
        line = command_line(['printf', '%s\\0', *words, '; rm -rf "$(pwd)"\n'], 'root', 5)
        said = subprocess.run(
            ['sh', '-c', line], check=True, capture_output=True, timeout=waiting.LIMIT
        ).stdout
        self.assertEqual([*words, '; rm -rf "$(pwd)"\n', ''], said.decode().split('\0'))

    def test_command_has_timeout_locale_and_user(self):
        self.assertRegex(command_line(['true'], 'root', 0.5), '^env LC_ALL=C PATH=[^ ]+ timeout 1 true$')
        self.assertRegex(
            command_line(['ls', 'a b'], 'debian', 60),
            "^sudo -n -- env LC_ALL=C PATH=[^ ]+ timeout 60 ls 'a b'$",
        )

    def test_argument_with_a_nul_is_refused(self):
        self.assertRaises(errors.Invalid, command_line, ['ls', 'a\0b'], 'root', 1)
