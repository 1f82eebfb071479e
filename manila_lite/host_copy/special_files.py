# SPDX-License-Identifier: Apache-2.0
"""Modes of device nodes and sockets, which some versions of rsync cannot set in a sandbox.

rsync 3.5 changes a mode through a descriptor of the file, or through /proc. It cannot open these files, and there is no /proc
in the sandbox: a tenant's link could lead into it. So it writes a line about each, leaves the mode that the file was made with,
and ends well. That mode is another one after a change between two passes, under a folder with a default ACL, and if the file
has setuid and a new owner.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from manila_lite.host import sandbox

#: How the line begins. If something else begins like this, the modes are set for nothing.
UNSET = b'do_chmod: '
#: Bytes of names for one program, whose arguments have a limit; and of names that are kept until then: a tenant can use each of
#: the 4096 modes.
_ARGUMENTS, _KEPT = 1 << 19, 8 << 20
#: Bytes that an argument takes beside its text.
_POINTER = 10


def listing(source: Path, target: Path) -> tuple[str, ...]:
    """Return the command that lists all such files of the source: mode and path of each, with a zero byte at its end."""
    return sandbox.words(
        target, 'find', sandbox.SOURCE, '-xdev', '-type', 'b,c,s', '-printf', '%m %P\\0', source=source
    )


def changes(listed: Iterable[bytes]) -> Iterator[tuple[str, ...]]:
    """Yield the programs, with their arguments, that give the files of the target the modes that were listed."""
    batches: dict[bytes, list[bytes]] = {}
    sizes: dict[bytes, int] = {}
    for entry in listed:
        mode, _, name = entry.partition(b' ')
        batches.setdefault(mode, []).append(name)
        sizes[mode] = sizes.get(mode, 0) + len(name) + len(sandbox.TARGET) + _POINTER
        if sizes[mode] > _ARGUMENTS:
            yield _change(mode, batches.pop(mode))
            sizes.pop(mode)
        if sum(sizes.values()) > _KEPT:
            yield from (_change(*batch) for batch in batches.items())
            batches, sizes = {}, {}
    yield from (_change(*batch) for batch in batches.items())


def _change(mode: bytes, names: Iterable[bytes]) -> tuple[str, ...]:
    # A link leads to files of the target only, inside the sandbox.
    return 'chmod', os.fsdecode(mode), '--', *(f'{sandbox.TARGET}/{os.fsdecode(name)}' for name in names)
