# SPDX-License-Identifier: Apache-2.0
"""The release before this one: its commit, which tools/releases.txt names, and its package."""

import configparser
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import fixtures
import testtools

ROOT = Path(__file__).resolve().parents[3]
RELEASES = ROOT / 'tools' / 'releases.txt'


class Release(NamedTuple):
    """A release: its version, and its commit."""

    version: str
    commit: str


def releases() -> list[Release]:
    """Return all releases, the newest last."""
    lines = RELEASES.read_text().splitlines()
    return [Release(*line.split()) for line in lines if line and not line.startswith('#')]


def git(*words: str) -> bytes:
    """Return the output of a command of git in this checkout.

    :raises subprocess.CalledProcessError: it failed.
    """
    # The checkout may belong to another user, as in a container.
    return subprocess.run(
        ['git', '-c', f'safe.directory={ROOT}', *words], cwd=ROOT, check=True, capture_output=True
    ).stdout


def need_history(test: testtools.TestCase) -> None:
    """Skip the test if this is no clone, or one without its past, so that no earlier release can be in it."""
    try:
        past = git('rev-parse', '--is-shallow-repository').strip() == b'false'
    except (OSError, subprocess.CalledProcessError):
        past = False
    if not past:
        test.skipTest('this tree has no history, so no earlier release is in it')


class Tree(fixtures.Fixture):
    """The package of a release (by default the last) in ``path``, with its metadata, as if it were installed there; without its
    tests.
    """

    def __init__(self, release: Release | None = None):
        super().__init__()
        self.release = release or releases()[-1]

    def _setUp(self) -> None:
        self.path = Path(self.useFixture(fixtures.TempDir()).path)
        self.unpack()

    def unpack(self) -> None:
        """Put the package into ``path``, an empty directory."""
        subprocess.run(['tar', '-x', '-C', self.path], input=self.archive(), check=True)
        self._write_metadata()

    def archive(self) -> bytes:
        """Return the package as a tar archive.

        :raises AssertionError: the commit is not in this clone; the message says how to get it.
        """
        version, commit = self.release
        try:
            return git(
                'archive',
                '--format=tar',
                commit,
                '--',
                'setup.cfg',
                'manila_lite',
                ':(exclude)manila_lite/tests',
            )
        except (OSError, subprocess.CalledProcessError) as bad:
            why = getattr(bad, 'stderr', b'').decode(errors='replace').strip() or bad
            raise AssertionError(
                f'The release before, {version}, is commit {commit}, and git cannot read it here ({why}). Run '
                f'"git fetch --unshallow" in a shallow clone, else "git fetch origin {commit}".'
            ) from None

    def _write_metadata(self) -> None:
        """Write what an installation would: the version, and the entry points, by which drivers and filters are found."""
        setup = configparser.ConfigParser(delimiters=('=',))
        setup.optionxform = str  # type: ignore[assignment, method-assign]
        setup.read(self.path / 'setup.cfg')
        folder = self.path / f'manila_lite-{self.release.version}.dist-info'
        folder.mkdir()
        (folder / 'METADATA').write_text(
            f'Metadata-Version: 2.1\nName: manila-lite\nVersion: {self.release.version}\n'
        )
        (folder / 'entry_points.txt').write_text(
            ''.join(f'[{group}]{lines}\n' for group, lines in setup['entry_points'].items())
        )

    @property
    def told(self) -> str | None:
        """The release that its services tell; None if they tell none."""
        return self.release.version if (self.path / 'manila_lite' / 'release.py').exists() else None

    @property
    def schema(self) -> str:
        """The newest revision of its schema."""
        versions = self.path / 'manila_lite' / 'db' / 'migrations' / 'versions'
        return max(path.name for path in versions.glob('[0-9]*.py')).partition('_')[0]

    @property
    def wake_ups(self) -> str:
        """The version of the wake-ups that it sends: the value for ``[upgrade_levels] operations``."""
        text = (self.path / 'manila_lite' / 'rpc' / 'endpoint.py').read_text()
        found = re.search(r"^VERSION = '([0-9.]+)'$", text, re.MULTILINE)
        if found is None:
            raise AssertionError(
                f'rpc/endpoint.py of release {self.release.version} does not tell its VERSION'
            )
        return found[1]
