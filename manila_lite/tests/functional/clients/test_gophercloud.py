# SPDX-License-Identifier: Apache-2.0
"""Call every function of gophercloud as packaged by Debian: the library of manila-csi, Terraform and other Go programs."""

import re

from manila_lite.tests.functional.clients import golang

_CALL = re.compile(r'^func ([A-Z]\w*)\(c(?:lient)? \*gophercloud\.ServiceClient', re.MULTILINE)


def calls():
    """Return the functions of the installed library."""
    return {
        f'{path.parent.name}.{name}'
        for path in golang.PACKAGE.glob('**/requests.go')
        for name in _CALL.findall(path.read_text())
    }


class Gophercloud(golang.GoTest):
    def test_every_call_of_the_library_succeeds(self):
        told = self.run_program('gophercloud')
        self.assertEqual([], [row for row in told if row['wrong']])
        self.assertEqual(calls(), {row['call'] for row in told} - {'errors.ExtractErrorInto'})
