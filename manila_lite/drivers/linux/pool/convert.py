# SPDX-License-Identifier: Apache-2.0
"""Copy a pool in a plain directory to a new file with btrfs, which can be served over NFS.

The directory is not changed. After an interruption, run the command again: it continues.
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from manila_lite import release
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.host import mounts
from manila_lite.host.commands import CommandFailed, run
from manila_lite.host.daemon import Daemon

#: Copies all attributes of every file.
_RSYNC = (
    'rsync',
    '--archive',
    '--hard-links',
    '--acls',
    '--xattrs',
    '--xattrs',
    '--numeric-ids',
    '--sparse',
    '--delete-before',
)
#: The same without changes: lists the files that still differ, compared by content.
_COMPARE = ('--checksum', '--dry-run', '--itemize-changes')
_A_WEEK = 7 * 86400.0
#: Records of the daemons that earlier share managers started; these may still serve the directory.
_RECORDS = ('ganesha.json', 'smbd.json', 'bus.json')


def _shares(directory: Path) -> list[Path]:
    """Return the shares of a pool. Names that begin with a dot are of incomplete or deleted shares."""
    return sorted(
        path
        for path in (directory / 'shares').iterdir()
        if path.is_dir() and not path.is_symlink() and not path.name.startswith('.')
    )


def _exports(shares: list[Path]) -> Iterator[Path]:
    """Yield the mount points at which shares are exported to clients."""
    known = {path.name: path for path in shares}
    for path in (Path(one.target) for one in mounts.mounted()):
        if path.parent.name == 'exports' and path.name in known and path.samefile(known[path.name]):
            yield path


def withdraw(shares: list[Path]) -> None:
    """Stop file servers that outlived their share manager, and unmount the shares, so that no client reaches them."""
    for path in list(_exports(shares)):
        for record in _RECORDS:
            Daemon(path.parent.parent / record).stop()
        mounts.unmount(path)


def copy(source: Path, target: Path) -> None:
    """Copy the source to the target, and compare them byte by byte.

    :raises CommandFailed: the target differs: a file cannot be copied, or was changed meanwhile.
    """
    if not target.exists():
        btrfs.create(target)
    words = ('--', f'{source}/', f'{target}/')
    run(*_RSYNC, *words, seconds=_A_WEEK)
    if differs := run(*_RSYNC, *_COMPARE, *words, seconds=_A_WEEK).strip():
        raise CommandFailed(f'{source} was changed meanwhile: {differs.splitlines()[0]}')


def convert(directory: Path, image: Path, size: int) -> Iterator[tuple[int, int, str]]:
    """Make the image a pool of ``size`` GiB with the data of the directory.

    Yields the number of shares that are done, the number of all shares, and the name of the next one.

    :raises CommandFailed: the conversion failed; another call continues it.
    """
    shares = _shares(directory)
    withdraw(shares)
    with tempfile.TemporaryDirectory(prefix='manila-linux-convert-') as folder:
        pool = BtrfsPool(Path(folder).resolve() / 'pool', image.with_name(f'{image.name}.converting'), size)
        with contextlib.ExitStack() as end:
            end.callback(pool.close)
            pool.open()
            for number, path in enumerate(shares):
                yield number, len(shares), path.name
                copy(path, pool.share(path.name))
            if (directory / 'left').is_dir():
                run(
                    'cp',
                    '--archive',
                    '--no-target-directory',
                    str(directory / 'left'),
                    str(pool.root / 'left'),
                )
            btrfs.sync(pool.root)
    image.with_name(f'{image.name}.converting').rename(image)


def main() -> None:
    """Convert one pool, and exit with the status."""
    os.umask(0o077)
    parser = argparse.ArgumentParser(prog='manila-linux-convert', description=__doc__)
    parser.add_argument('--version', action='version', version=release.FULL)
    parser.add_argument(
        'directory', type=Path, help='directory of the present pool (linux_pool_path of the backend)'
    )
    parser.add_argument('image', type=Path, help='path of the new pool file, the later linux_pool_path')
    parser.add_argument(
        '--size-gb', type=int, required=True, help='size of the new pool in GiB; the file is sparse'
    )
    sys.exit(_convert(parser.parse_args()))


def _convert(arguments: argparse.Namespace) -> str | None:
    """Convert the pool. Returns an error message, or None."""
    directory, image = arguments.directory.resolve(), arguments.image.resolve()
    if not (directory / 'shares').is_dir():
        return f'{directory} is not a pool: it has no directory "shares"'
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
    print(
        f'Set linux_pool_path = {image} and linux_pool_type = btrfs, and start manila-share: it sets the sizes of shares.\n'
        f'{directory} is as it was; remove it when clients have their files.'
    )
    return None


def _show(number: int, count: int, what: str) -> None:
    if sys.stdout.isatty():
        filled = 30 * number // count
        print(f'\r[{"#" * filled}{"." * (30 - filled)}] {what:<40}', end='', flush=True)
    else:
        print(f'{number} of {count}: {what.strip()}', flush=True)


if __name__ == '__main__':
    main()
