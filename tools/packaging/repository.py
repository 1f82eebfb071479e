# SPDX-License-Identifier: Apache-2.0
"""Put packages into a signed repository for apt: tools/packaging/repository.py DIRECTORY KEY SUITE DEB...

SUITE is the name of the release of Debian that the packages are for. KEY is what gpg knows a secret key by. Packages that are
there stay, so that hosts can go back to them. Hosts may read the repository meanwhile: an index has a new name each time, and
the file that names and signs them is replaced last, at once.
"""

import datetime
import filecmp
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from email.utils import format_datetime
from pathlib import Path

_NAME = 'manila-lite'
_COMPONENT = 'main'


def publish(home: Path, key: str, suite: str, debs: list[Path]) -> None:
    """Add packages, and sign the lists of all of them."""
    pool = home / 'pool' / suite
    pool.mkdir(parents=True, exist_ok=True)
    for deb in debs:
        add(deb, pool)
    replace(home / f'{_NAME}.asc', public(key))
    dist = home / 'dists' / suite
    files = {}
    for architecture in architectures(pool):
        place = f'{_COMPONENT}/binary-{architecture}'
        listed = index(home, suite, architecture)
        files |= {f'{place}/Packages': listed, f'{place}/Packages.gz': gzip.compress(listed, mtime=0)}
    wanted = [write(dist, name, content) for name, content in files.items()]
    replace(
        dist / 'InRelease', _gpg('--local-user', key, '--clearsign', given=release(suite, files).encode())
    )
    forget(dist, wanted)


def public(key: str) -> bytes:
    """Return what hosts need to check signatures of a key."""
    if not (found := _gpg('--armor', '--export', key)):
        sys.exit(
            f'gpg knows no key {key!r}: gpg --list-secret-keys shows them, and gpg --quick-generate-key makes one'
        )
    return found


def add(deb: Path, pool: Path) -> None:
    """Copy a package. One of this name has this content for good: hosts that have it would never see another."""
    there = pool / deb.name
    if there.exists() and not filecmp.cmp(deb, there, shallow=False):
        sys.exit(
            f'{there} has another content than {deb}: build it from another commit, which has another version'
        )
    if not there.exists():
        draft = there.with_suffix('.new')
        shutil.copyfile(deb, draft)
        draft.replace(there)


def architectures(pool: Path) -> list[str]:
    """Return the architectures of the packages; packages for all of them are listed with each."""
    found = {path.stem.rpartition('_')[2] for path in pool.glob('*.deb')} - {'all'}
    return sorted(found) or [_run('dpkg', '--print-architecture').decode().strip()]


def index(home: Path, suite: str, architecture: str) -> bytes:
    """Return the list of all packages for an architecture."""
    place = f'pool/{suite}'
    listed = _run('dpkg-scanpackages', '--multiversion', '--arch', architecture, place, cwd=home)
    if not listed:  # hosts would take an empty list for all that there is
        sys.exit(f'dpkg-scanpackages has found no package in {home / place}')
    return listed


def write(dist: Path, name: str, content: bytes) -> Path:
    """Write an index under its name, and under that of its hash; return the latter."""
    kept = (dist / name).parent / 'by-hash/SHA256' / hashlib.sha256(content).hexdigest()
    kept.parent.mkdir(parents=True, exist_ok=True)
    for path in (kept, dist / name):
        replace(path, content)
    return kept


def replace(path: Path, content: bytes) -> None:
    """Write a file at once."""
    draft = path.with_name(f'{path.name}.new')
    draft.write_bytes(content)
    draft.replace(path)


def release(suite: str, files: dict[str, bytes]) -> str:
    """Return the list of all indexes, which is signed."""
    known = sorted({name.split('/')[1].removeprefix('binary-') for name in files})
    fields = {
        'Origin': 'manila_lite',
        'Label': 'manila_lite',
        'Suite': suite,
        'Codename': suite,
        'Date': format_datetime(datetime.datetime.now(datetime.UTC), usegmt=True),
        'Architectures': ' '.join(known),
        'Components': _COMPONENT,
        'Acquire-By-Hash': 'yes',
    }
    lines = [f'{name}: {value}' for name, value in fields.items()]
    sums = [f' {hashlib.sha256(text).hexdigest()} {len(text)} {name}' for name, text in files.items()]
    return '\n'.join([*lines, 'SHA256:', *sums, ''])


def forget(dist: Path, wanted: list[Path]) -> None:
    """Remove indexes that nobody reads any more: all but the newest, and those of the last day."""
    yesterday = datetime.datetime.now(datetime.UTC).timestamp() - 86400
    for path in dist.glob('*/*/by-hash/SHA256/*'):
        if path not in wanted and path.stat().st_mtime < yesterday:
            path.unlink()


def _gpg(*words: str, given: bytes = b'') -> bytes:
    return _run('gpg', '--batch', '--quiet', *words, given=given)


def _run(*words: str, given: bytes = b'', cwd: Path | None = None) -> bytes:
    """Run a program; return what it printed. Without it, or if it fails, this program ends with what it said."""
    try:
        done = subprocess.run(
            words, input=given, capture_output=True, cwd=cwd, env=os.environ | {'LC_ALL': 'C.UTF-8'}
        )
    except FileNotFoundError:
        sys.exit(f'{words[0]} is not installed')
    if done.returncode:
        sys.exit(f'{words[0]}: exit status {done.returncode}: {done.stderr.decode(errors="replace").strip()}')
    return done.stdout


if __name__ == '__main__':
    publish(Path(sys.argv[1]), sys.argv[2], sys.argv[3], [Path(word) for word in sys.argv[4:]])
