# SPDX-License-Identifier: Apache-2.0
"""Messages of rsync, and of the programs beside it, in a copy: its progress, errors, and paths.

They hold names of tenants' files. So lines are cut before they are looked at, only known beginnings count, and a copy ends
after so many errors.
"""

import re
from typing import NamedTuple

from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import special_files

_ALL = 100
_PROGRESS = re.compile(rb'[\r\n] *(?P<bytes>[0-9,]+) +(?P<percent>[0-9]+)% ')
_FILES = re.compile(rb' \(xfr#[0-9]+, to-chk=(?P<left>[0-9]+)/(?P<all>[0-9]+)\)')
#: What may stand before a message in its line.
_BEFORE = re.compile(rb'^ *[0-9,]+ +[0-9]+% +[^ ]+ +[0-9:]+ +(?:\(xfr#[0-9]+, to-chk=[0-9]+/[0-9]+\) *)?')
#: How an error begins, and the directories that it may name.
_ERROR, _TREES = b'rsync: ', (b'/source/', b'/target/')
#: The receiver writes to a temporary name.
_TEMPORARY = re.compile(rb'(?P<folder>^|/)\.(?P<name>[^/]+)\.[A-Za-z0-9]{6}$')
#: A file that differs, in the answer to ``COMPARE``. A time alone does not count: not every file system can keep it.
_DIFFERS = re.compile(rb'^(?P<how>[<>ch.][fdLDS][.+?a-zA-Z]{9}|\*deleting  ) (?P<path>.*)$')
_ONLY_TIME = b'..t......'
#: How the line about a path begins that is too long for rsync. It has no number of an error.
_OVERFLOWS = re.compile(rb'^filename overflows max-path len by [0-9]+: (?P<path>.*)$')
#: Messages of chmod(1): how they begin, and reasons that are no failure, for a client has deleted the file meanwhile.
_CHMOD, _GONE = b'chmod: ', (b'No such file or directory', b'Not a directory')
#: Bytes of a line that are looked at, half of them from its begin and half from its end; and paths that are kept.
_LINE, _PATHS = 512, 10
#: Errors, and bytes of them, after which a copy ends: each of a tenant's files could cause some.
_ERRORS, _ERROR_BYTES = 1000, 1 << 20


class Hopeless(CommandFailed):
    """The copy would break each time."""


class CannotKeepAll(Hopeless):
    """Files have ACLs or extended attributes that cannot be where they are to be copied to."""


class TooDeep(Hopeless):
    """Directories are in each other deeper than rsync goes, or have too long a path."""


class TooMany(Hopeless):
    """The list of all files with their attributes is too long."""


class TooMuch(Hopeless):
    """Files say that they hold more than they may."""


class NoRoom(CommandFailed):
    """There is no room for all, now."""


class NotOurs(CommandFailed):
    """The process may not work at the backend any more, and another one may make the copy."""


#: Operations of rsync that fail if ACLs or extended attributes cannot be kept.
_KEEPING = {b'set_acl:', b'rsync_xal_set:', b'rsync_xal_clear:'}
#: Numbers of errors, and the error that the copy ends with; of several the first one here.
_KINDS: dict[bytes, type[CommandFailed]] = {
    b'95': CannotKeepAll,
    b'12': TooDeep,
    b'36': TooDeep,
    b'28': NoRoom,
    b'122': NoRoom,
}


class Failure(NamedTuple):
    """A line of rsync about an operation that failed. ``before``: the words before the reason. No step here searches twice."""

    before: bytes
    why: bytes
    number: bytes

    @classmethod
    def read(cls, line: bytes) -> 'Failure | None':
        """Return the failure that a line tells, such as ``rsync: [sender] opendir "/source/d" failed: No (12)``."""
        text, _, number = line.removesuffix(b')').rpartition(b' (')
        before, _, why = text.rpartition(b': ')
        known = (
            line.startswith(_ERROR)
            and line.endswith(b')')
            and number.isdigit()
            and b'"' not in why
            and b':' not in why
        )
        return cls(before, why, number) if known else None

    @property
    def kind(self) -> type[CommandFailed] | None:
        """The error that the copy ends with, if it is a special one."""
        kind = _KINDS.get(self.number)
        if kind is CannotKeepAll and not set(self.before.split(b' ', 3)[2:3]) & _KEEPING:
            return None
        return None if kind is TooDeep and not self.before.endswith(b'" failed') else kind

    @property
    def path(self) -> bytes | None:
        """The path of the file below the source or the target; None if it is about no file there. A link has a second name."""
        _, _, named = self.before.removesuffix(b' failed').partition(b'"')
        if not named.startswith(_TREES):
            return None
        path, quote, _ = named.partition(b'" -> "')
        if not quote:
            path, quote, rest = named.rpartition(b'"')
            if rest not in (b'', b')'):
                return None
        return path[len(_TREES[0]) :] if quote else None


class Messages:
    """The messages of one copy.

    ``bytes_done``, ``files_done`` and ``files_total`` are those of rsync: unchanged files are no bytes. ``failed`` has the
    first paths that could not be copied, each with the reason; ``differing`` those that differ. ``lacks_modes``: rsync could
    not set the modes of special files.
    """

    def __init__(self) -> None:
        self._rest = b''
        self._kinds: set[type[CommandFailed]] = set()
        self._errors = self._error_bytes = 0
        self.lacks_modes = False
        self.percent = 0
        self.bytes_done = self.files_done = self.files_total = 0
        self.failed: dict[str, str] = {}
        self.differing: list[str] = []

    def begin(self) -> None:
        """Forget what the program before said, but for what it is asked for at the end."""
        self._rest = b''
        self._kinds.clear()

    def progress(self, said: bytes) -> int:
        """Take the progress from the last output. Return the bytes that are done."""
        done = 0
        if matches := _PROGRESS.findall(said):
            bytes_, percent = matches[-1]
            done = int(bytes_.replace(b',', b''))
            self.percent = max(
                self.percent, min(int(percent), _ALL - 1)
            )  # below 100 until the copy has ended
        self.bytes_done = max(done, self.bytes_done)
        if counts := _FILES.findall(said):
            left, self.files_total = map(int, counts[-1])
            self.files_done = self.files_total - left
        return done

    def kind(self) -> type[CommandFailed]:
        """Return the error that the messages mean."""
        return next((kind for kind in _KINDS.values() if kind in self._kinds), CommandFailed)

    def hear(self, piece: bytes) -> None:
        """Keep the errors, and the paths, that are in complete lines of output."""
        *lines, rest = (self._rest + piece).replace(b'\r', b'\n').split(b'\n')
        self._rest = _cut(rest)
        for line in filter(None, (_BEFORE.sub(b'', _cut(line)) for line in lines)):
            self.heed(line)

    def heed(self, line: bytes) -> None:
        """Take what a line says."""
        if line.startswith(_ERROR):
            self._heed_error(line)
        elif line.startswith(_CHMOD):
            self._heed_chmod(line)
        elif line.startswith(special_files.UNSET):
            self.lacks_modes = True
        elif too_long := _OVERFLOWS.match(line):
            self._kinds.add(TooDeep)
            self.note_failure(too_long['path'], b'path too long')
            self.count(line)
        elif (
            (found := _DIFFERS.match(line))
            and found['how'][2:] != _ONLY_TIME
            and len(self.differing) < _PATHS
        ):
            self.differing.append(_text(found['path']))

    def _heed_chmod(self, line: bytes) -> None:
        about, _, why = line.rpartition(b': ')
        if why not in _GONE:
            self.note_failure(about.partition(b'/target/')[2].removesuffix(b"'"), why)
            self.count(line)

    def _heed_error(self, line: bytes) -> None:
        if (failure := Failure.read(line)) is not None:
            if (kind := failure.kind) is not None:
                self._kinds.add(kind)
            if (path := failure.path) is not None:
                self.note_failure(path, failure.why)
        self.count(line)

    def note_failure(self, path: bytes, why: bytes) -> None:
        """Keep the path of a file that could not be copied, and the reason."""
        if len(self.failed) < _PATHS:
            self.failed.setdefault(_path(path), _text(why))

    def count(self, line: bytes) -> None:
        """Count an error.

        :raises CommandFailed: there are too many.
        """
        self._errors += 1
        self._error_bytes += len(line)
        if self._errors > _ERRORS or self._error_bytes > _ERROR_BYTES:
            raise self.kind()(f'rsync: stopped after {self._errors - 1} errors; the last one: {_text(line)}')


def _cut(line: bytes) -> bytes:
    """Return a line, or begin and end of one that is too long: these have the operation and the number of the error."""
    return line if len(line) <= _LINE else line[: _LINE // 2] + b'...' + line[3 - _LINE // 2 :]


def _path(path: bytes) -> str:
    """Return the path of a file, also if the message has its temporary name."""
    return _text(_TEMPORARY.sub(rb'\g<folder>\g<name>', path))


def _text(said: bytes) -> str:
    return said.decode(errors='backslashreplace')


def last_words(said: bytes) -> str:
    """Return the last messages of the programs, as a reason."""
    lines = [line.strip() for line in said.decode(errors='replace').replace('\r', '\n').split('\n')]
    return (
        '; '.join([line for line in lines if line.startswith(('rsync', 'bwrap', 'find', 'chmod'))][-2:])
        or 'it failed'
    )
