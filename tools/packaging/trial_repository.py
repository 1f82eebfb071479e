# SPDX-License-Identifier: Apache-2.0
"""Make a repository with a key that nobody keeps, to try one: tools/packaging/trial_repository.py DIRECTORY SUITE DEB..."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import repository

#: By which gpg knows the key.
KEY = 'trial@example.org'


def make(home: Path, suite: str, debs: list[Path]) -> None:
    """Make the repository."""
    with tempfile.TemporaryDirectory(prefix='ml-gpg-') as keys:
        os.environ['GNUPGHOME'] = keys
        try:
            words = (
                'gpg',
                '--batch',
                '--quiet',
                '--passphrase',
                '',
                '--quick-generate-key',
                KEY,
                'ed25519',
                'sign',
                'never',
            )
            subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
            repository.publish(home, KEY, suite, debs)
        finally:
            subprocess.run(('gpgconf', '--kill', 'all'), check=False)


if __name__ == '__main__':
    make(Path(sys.argv[1]), sys.argv[2], [Path(word) for word in sys.argv[3:]])
