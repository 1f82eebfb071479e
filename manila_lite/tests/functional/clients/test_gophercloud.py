# SPDX-License-Identifier: Apache-2.0
"""Call every function of gophercloud as packaged by Debian: the library of manila-csi, Terraform and other Go programs."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import fixtures

from manila_lite.tests.functional.clients import service
from manila_lite.tests.services import groups

_LIBRARY = pathlib.Path('/usr/share/gocode')
_PACKAGE = _LIBRARY / 'src/github.com/gophercloud/gophercloud/openstack/sharedfilesystems'
_CALL = re.compile(r'^func ([A-Z]\w*)\(c(?:lient)? \*gophercloud\.ServiceClient', re.MULTILINE)


def calls():
    """Return the functions of the installed library."""
    return {
        f'{path.parent.name}.{name}'
        for path in _PACKAGE.glob('**/requests.go')
        for name in _CALL.findall(path.read_text())
    }


class Gophercloud(service.ClientTest):
    def test_every_call_of_the_library_succeeds(self):
        groups.want('go')
        if not shutil.which('go') or not _PACKAGE.is_dir():
            self.skipTest('packages golang-go and golang-github-gophercloud-gophercloud-dev are not there')
        place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        go = {'GO111MODULE': 'off', 'GOPATH': str(_LIBRARY), 'GOCACHE': str(place / 'cache'), 'GOFLAGS': ''}
        subprocess.run(
            ['go', 'build', '-o', str(place / 'calls'), '.'],
            check=True,
            env=os.environ | go,
            cwd=pathlib.Path(__file__).with_name('gophercloud'),
        )
        done = subprocess.run(
            [str(place / 'calls'), self.url, 'go:go:admin,member,reader'],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        told = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([], [row for row in told if row['wrong']])
        self.assertEqual(calls(), {row['call'] for row in told} - {'errors.ExtractErrorInto'})
