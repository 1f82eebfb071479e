# SPDX-License-Identifier: Apache-2.0
"""Copy a pool that is a plain directory to a new file with btrfs on it, which can be served over NFS.

Nothing in the directory is changed. Called again after it was interrupted, it goes on.
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from manila_lite.drivers.linux import btrfs, mounts
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.daemon import Daemon
from manila_lite.drivers.linux.run import CommandFailed, run

#: Everything of every file.
_RSYNC = ('rsync', '--archive', '--hard-links', '--acls', '--xattrs', '--numeric-ids', '--sparse', '--delete-before')
#: The same, only said: what is still another, by content.
_COMPARE = ('--checksum', '--dry-run', '--itemize-changes')
_A_WEEK = 7 * 86400.0
#: Who serves a directory, by the records that earlier share managers left.
_RECORDS = ('ganesha.json', 'smbd.json', 'bus.json')


def _shares(directory: Path) -> list[Path]:
    """Return the shares of a pool. What begins with a dot is none yet, or none any more."""
    return sorted(place for place in (directory / 'shares').iterdir()
                  if place.is_dir() and not place.is_symlink() and not place.name.startswith('.'))


def _exports(shares: list[Path]) -> Iterator[Path]:
    """Yield where shares are mounted for clients."""
    known = {place.name: place for place in shares}
    for line in Path('/proc/self/mountinfo').read_text(errors='surrogateescape').splitlines():
        place = Path(line.split(' ')[4].replace('\\040', ' '))
        if place.parent.name == 'exports' and place.name in known and place.samefile(known[place.name]):
            yield place


def withdraw(shares: list[Path]) -> None:
    """No client reaches the shares: file servers that outlived their share manager have ended."""
    for place in list(_exports(shares)):
        for record in _RECORDS:
            Daemon(place.parent.parent / record).stop()
        mounts.unmount(place)


def copy(source: Path, target: Path) -> None:
    """The target holds what the source holds, compared byte by byte.

    :raises CommandFailed: it does not: something cannot be copied, or was changed meanwhile.
    """
    if not target.exists():
        btrfs.create(target)
    words = ('--', f'{source}/', f'{target}/')
    run(*_RSYNC, *words, seconds=_A_WEEK)
    if differs := run(*_RSYNC, *_COMPARE, *words, seconds=_A_WEEK).strip():
        raise CommandFailed(f'{source} was changed meanwhile: {differs.splitlines()[0]}')


def convert(directory: Path, image: Path, size: int) -> Iterator[tuple[int, int, str]]:
    """The image is a pool of ``size`` GiB with what the directory holds. Yields how many shares of how many are done, and the
    next one.

    :raises CommandFailed: it could not be done; called again it goes on.
    """
    shares = _shares(directory)
    withdraw(shares)
    with tempfile.TemporaryDirectory(prefix='manila-linux-convert-') as folder:
        pool = BtrfsPool(Path(folder).resolve() / 'pool', image.with_name(f'{image.name}.converting'), size)
        with contextlib.ExitStack() as end:
            end.callback(pool.close)
            pool.open()
            for number, place in enumerate(shares):
                yield number, len(shares), place.name
                copy(place, pool.share(place.name))
            if (directory / 'left').is_dir():
                run('cp', '--archive', '--no-target-directory', str(directory / 'left'), str(pool.root / 'left'))
            btrfs.sync(pool.root)
    image.with_name(f'{image.name}.converting').rename(image)


def main() -> None:
    """Convert one pool, and end with the exit status."""
    os.umask(0o077)
    parser = argparse.ArgumentParser(prog='manila-linux-convert', description=__doc__)
    parser.add_argument('directory', type=Path, help='the pool as it is: linux_pool_path of the backend')
    parser.add_argument('image', type=Path, help='the file to make; then linux_pool_path of the backend')
    parser.add_argument('--size-gb', type=int, required=True, help='size of the new pool, in GiB; the file is sparse')
    sys.exit(_convert(parser.parse_args()))


def _convert(arguments: argparse.Namespace) -> str | None:
    """Return what went wrong."""
    directory, image = arguments.directory.resolve(), arguments.image.resolve()
    if not (directory / 'shares').is_dir():
        return f'{directory} is no pool: it has no folder "shares"'
    if image.exists():
        return f'{image} is there already'
    if image.is_relative_to(directory / 'shares'):
        return f'{image} would be in a share; name a place outside of {directory / "shares"}'
    try:
        for number, count, name in convert(directory, image, arguments.size_gb):
            _show(number, count, name)
    except (CommandFailed, OSError) as bad:
        return f'{bad}\nNothing in {directory} was changed. Call this again to go on; {image}.converting has what is done.'
    _show(1, 1, 'done\n')
    print(f'Set linux_pool_path = {image} and linux_pool_type = btrfs, and start manila-share: it sets the sizes of shares.\n'
          f'{directory} is as it was; remove it when clients have their files.')
    return None


def _show(number: int, count: int, what: str) -> None:
    if sys.stdout.isatty():
        filled = 30 * number // count
        print(f'\r[{"#" * filled}{"." * (30 - filled)}] {what:<40}', end='', flush=True)
    else:
        print(f'{number} of {count}: {what.strip()}', flush=True)


if __name__ == '__main__':
    main()
