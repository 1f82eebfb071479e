# SPDX-License-Identifier: Apache-2.0
"""Small libraries in C that stand between a file server and the kernel, compiled here for the machine that they run on."""

import contextlib
import functools
import hashlib
import shutil
import tempfile
from pathlib import Path

from manila_lite.host.commands import ENV, run

#: The compiler, and the packages that are needed to compile a library.
COMPILER, PACKAGES = 'cc', 'gcc libc6-dev'
_OPTIONS = ('-O2', '-fPIC', '-shared', '-Wl,-z,relro,-z,now')


def can_be_made() -> bool:
    return bool(shutil.which(COMPILER, path=ENV['PATH'])) and Path('/usr/include/stdlib.h').exists()


@functools.cache
def version(source: Path, *more: Path | str) -> str:
    """Return a hash that changes with the library. ``more``: further sources, options of the compiler, and libraries behind
    this one.
    """
    sources = [source, *(word for word in more if isinstance(word, Path))]
    options = tuple(word for word in more if isinstance(word, str))
    texts = b''.join(file.read_bytes() for file in sources)
    return hashlib.sha256(texts + repr((_OPTIONS, options)).encode()).hexdigest()[:12]


@functools.cache
def _bytes(source: Path, *more: Path | str) -> bytes:
    with tempfile.TemporaryDirectory(prefix='manila_lite-guard-') as folder:
        made = Path(folder, 'made.so')
        run(COMPILER, *_OPTIONS, *map(str, (source, *more)), '-o', str(made))
        return made.read_bytes()


def prepare(source: Path, *more: Path | str) -> None:
    """Compile the library, for a later ``install``: a host that takes over has no time for that.

    :raises CommandFailed: it cannot be compiled.
    """
    _bytes(source, *more)


def install(library: Path, source: Path, *more: Path | str) -> None:
    """Make the library anew, with its folder: what was there before counts for nothing, since a server runs it as root.

    :raises CommandFailed: it cannot be compiled.
    """
    made = _bytes(source, *more)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(library.parent)
    library.parent.mkdir(mode=0o700, parents=True)
    library.write_bytes(made)
