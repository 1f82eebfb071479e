# SPDX-License-Identifier: Apache-2.0
"""Programs in Go, built with the library that Debian has."""

import json
import os
import pathlib
import shutil
import subprocess

import fixtures

from manila_lite.tests import waiting
from manila_lite.tests.functional.clients import service
from manila_lite.tests.services import groups

LIBRARY = pathlib.Path('/usr/share/gocode')
#: The functions for shared file systems.
PACKAGE = LIBRARY / 'src/github.com/gophercloud/gophercloud/openstack/sharedfilesystems'


class GoTest(service.ClientTest):
    """A service, and programs in directories beside this file."""

    def run_program(self, name):
        """Build a program, and run it against the service. Return the lines that it prints, as objects."""
        groups.want('go')
        if not shutil.which('go') or not PACKAGE.is_dir():
            self.skipTest('packages golang-go and golang-github-gophercloud-gophercloud-dev are not there')
        place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        go = {'GO111MODULE': 'off', 'GOPATH': str(LIBRARY), 'GOCACHE': str(place / 'cache'), 'GOFLAGS': ''}
        subprocess.run(
            ['go', 'build', '-o', str(place / name), '.'],
            check=True,
            env=os.environ | go,
            cwd=pathlib.Path(__file__).with_name(name),
        )
        done = subprocess.run(
            [str(place / name), self.url, 'go:go:admin,member,reader'],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=waiting.LIMIT,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]
