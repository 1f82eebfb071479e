# SPDX-License-Identifier: Apache-2.0
"""Our lines in a node's ``/etc/fstab``, each marked at its end; all other lines stay as they are, byte for byte."""

import hashlib
import os
import re
from collections.abc import Callable

from manila_lite import errors
from manila_lite.siblings.dataproc.interface import Mount, Remote

_MARK = '# mlite '
_OURS = re.compile(rb'[^ \t#][^ \t]*[ \t]+([^ \t]+)[ \t].*# mlite [^ \t]+[ \t]*')
_ESCAPED = ' \t\n\\#'

_READ = 'if test -e /etc/fstab; then cat /etc/fstab; fi'
# The draft gets owner and mode of the file that it replaces. A file that changed since we read it is not replaced.
_REPLACE = """set -e
file=$(readlink -f /etc/fstab)
if test -e "$file"; then cp -p "$file" "$file.mlite"; else : > "$file"; fi
dd of="$file.mlite" conv=fsync 2>/dev/null
if test "$(sha256sum < "$file")" = "$1  -"; then mv -f "$file.mlite" "$file"; else rm -f "$file.mlite"; exit 75; fi
"""
_CHANGED = 75
_TRIES = 5


def escaped(word: str) -> str:
    r"""Return a field in the form of fstab(5): white space, ``\`` and ``#`` as octal numbers."""
    return ''.join(f'\\{ord(char):03o}' if char in _ESCAPED else char for char in word)


def plain(word: str) -> str:
    """Return the value of a field of fstab."""
    return re.sub(r'\\([0-7]{3})', lambda match: chr(int(match[1], 8)), word)


def line(mount: Mount, options: str) -> bytes:
    """Return the line for a mount, which waits for the network, and whose failure does not stop the boot."""
    whole = ','.join(word for word in (mount.level, options, '_netdev', 'nofail') if word)
    return os.fsencode(
        f'{escaped(mount.export)} {escaped(mount.path)} nfs {whole} 0 0 {_MARK}{mount.share_id}\n'
    )


def without(text: bytes, path: str) -> bytes:
    """Return the text without our lines for a path."""
    return b''.join(row for row in _rows(text) if not _is_ours(row, path))


def has(text: bytes, path: str) -> bool:
    """Say whether there is a line of ours for a path."""
    return any(_is_ours(row, path) for row in _rows(text))


def _rows(text: bytes) -> list[bytes]:
    # Like the C library, which knows no other line ends.
    return re.findall(rb'[^\n]*\n|[^\n]+', text)


def _is_ours(row: bytes, path: str) -> bool:
    match = _OURS.fullmatch(row.rstrip(b'\n'))
    return match is not None and plain(os.fsdecode(match[1])) == path


def paths(text: bytes) -> list[str]:
    """Return the paths of all our lines."""
    matches = (_OURS.fullmatch(row.rstrip(b'\n')) for row in _rows(text))
    return [plain(os.fsdecode(match[1])) for match in matches if match is not None]


def with_line(text: bytes, mount: Mount, options: str) -> bytes:
    """Return the text with exactly one line of ours for the mount's path; the same text if it is there already."""
    wanted = line(mount, options)
    if [row for row in _rows(text) if _is_ours(row, mount.path)] == [wanted]:
        return text
    rest = without(text, mount.path)
    return rest + (b'' if not rest or rest.endswith(b'\n') else b'\n') + wanted


def put(remote: Remote, mount: Mount, options: str) -> None:
    """Put the line into the node's fstab. :raises errors.Again: other programs keep changing the file."""
    _change(remote, lambda text: with_line(text, mount, options))


def take_out(remote: Remote, path: str) -> None:
    """Remove our line for the path from the node's fstab. :raises errors.Again: other programs keep changing the file."""
    _change(remote, lambda text: without(text, path))


def read(remote: Remote) -> bytes:
    """Return the node's fstab."""
    ended = remote.run(['sh', '-c', _READ])
    if ended.status:
        raise errors.Again(5, f'/etc/fstab cannot be read: {ended.err.decode(errors="replace").strip()}')
    return ended.out


def _change(remote: Remote, change: Callable[[bytes], bytes]) -> None:
    for _ in range(_TRIES):
        old = read(remote)
        new = change(old)
        if new == old:
            return
        done = remote.run(['sh', '-c', _REPLACE, 'mlite', hashlib.sha256(old).hexdigest()], new)
        if not done.status:
            return
        if done.status != _CHANGED:
            raise errors.Final(f'/etc/fstab cannot be changed: {done.err.decode(errors="replace").strip()}')
    raise errors.Again(5, '/etc/fstab changes all the time')
