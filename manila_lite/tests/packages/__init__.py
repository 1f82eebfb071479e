# SPDX-License-Identifier: Apache-2.0
"""What the tests of Debian packages need: packages of a later release in a repository, and a program for the machine."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name('in_guest.py')
#: By which gpg knows the key of a repository.
_KEY = 'trial@example.org'
_NEW_KEY = '--passphrase', '', '--quick-generate-key', _KEY, 'ed25519', 'sign', 'never'


def make_later(deb, folder):
    """Write the package of a later version, to try upgrades. Its configuration files have one more line."""
    with tempfile.TemporaryDirectory() as draft:
        tree = Path(draft, 'tree')
        subprocess.run(['dpkg-deb', '--raw-extract', deb, tree], check=True)
        name, version, rest = deb.name.split('_')
        control = tree / 'DEBIAN/control'
        control.write_text(control.read_text().replace(version, f'{version}+next'))
        if (listed := tree / 'DEBIAN/conffiles').exists():
            for path in listed.read_text().split():
                with (tree / path.lstrip('/')).open('a') as file:
                    file.write('# A line of the next release.\n')
        target = folder / f'{name}_{version}+next_{rest}'
        subprocess.run(
            ['dpkg-deb', '--root-owner-group', '-Znone', '--build', tree, target],
            check=True,
            capture_output=True,
        )


def publish(home, debs):
    """Make a repository, signed with a key that nobody keeps."""
    with tempfile.TemporaryDirectory(prefix='ml-gpg-') as keys:
        env = os.environ | {'GNUPGHOME': keys}
        try:
            subprocess.run(
                ['gpg', '--batch', '--quiet', *_NEW_KEY], check=True, stdin=subprocess.DEVNULL, env=env
            )
            tool = ROOT / 'tools/packaging/repository.py'
            subprocess.run([sys.executable, tool, home, _KEY, 'bookworm', *debs], check=True, env=env)
        finally:
            subprocess.run(['gpgconf', '--kill', 'all'], check=False, env=env)
