# SPDX-License-Identifier: Apache-2.0
"""NFS exports in the file system of a host: the same class for this host, for a node behind SSH and for tests.

A way to mount is a row of ``WAYS``: the kernel's NFS client, a bind mount of a directory that this very host exports,
or a FUSE program with libnfs for a kernel without an NFS client. Mounts are always read from the host's own mount
table, so that every step may be repeated, after a crash too.
"""

import contextlib
import enum
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from manila_lite import errors
from manila_lite.host.commands import ENV
from manila_lite.siblings import mount_faults

#: Seconds that a mount, an unmount and a look at the mount table may take.
_SECONDS = 60.0
#: Seconds to wait for the end of a killed command: in the kernel, it may wait for a server that never answers.
_KILLED_SECONDS = 1.0
#: The host itself runs nothing from a share: it is for guests, which decide themselves what they run.
_SAFE = 'nosuid,nodev'
_LIBNFS = 'manila_lite.siblings.nfs_fuse'
#: Errors of a mount that only a new mount mends: a FUSE program that died leaves its mount behind, and a server may
#: have forgotten an export.
_DEAD = re.compile('not connected|stale file handle|connection aborted|software caused', re.IGNORECASE)


class MountFailed(errors.ManilaLiteError):
    """The export could not be mounted; the message has what the host said, and ``cause`` is for the owner of the share."""

    code = 'mount_failed'

    @property
    def cause(self) -> str:
        """The cause, as a sentence that names nothing of the host."""
        return f'The share cannot be mounted: {mount_faults.cause(str(self))}.'


class TimedOut(errors.Unavailable):
    """A command did not end in time: its host, or the server that it waits for, does not answer."""


class MountBusy(errors.Conflict):
    """Somebody works in the mounted file system, so it stays mounted."""

    code = 'mount_busy'


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a command: its exit status and its output."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The output that explains a failure."""
        return (self.err or self.out).strip() or f'exit status {self.status}'


class Executor(Protocol):
    """An executor of commands, as root on one host."""

    def run(self, words: Sequence[str], *, seconds: float = _SECONDS) -> Ended:
        """Run a command, without a shell; a status other than 0 is no exception.

        :raises errors.Unavailable: the host cannot be reached, or did not answer in time.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """An executor on this host, in one of its network namespaces if given."""

    netns: str = ''

    def run(self, words: Sequence[str], *, seconds: float = _SECONDS) -> Ended:
        """See ``Executor.run``. A command that does not exist ends with status 127, as in a shell."""
        if self.netns:
            words = ['nsenter', f'--net=/run/netns/{self.netns}', *words]
        try:
            process = subprocess.Popen(
                list(words),
                env=ENV,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors='replace',
                start_new_session=True,
            )
        except FileNotFoundError as bad:
            return Ended(127, '', str(bad))
        except OSError as bad:
            raise errors.Unavailable(f'{words[0]}: {bad}') from bad
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise TimedOut(f'{words[0]}: no answer within {seconds:g} s') from None
        return Ended(process.returncode, out, err)


def _kill(process: 'subprocess.Popen[str]') -> None:
    """Kill a command with its children, as mount.nfs of mount; do not wait long for its end."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILLED_SECONDS)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


class Health(enum.Enum):
    """The state of a mount. ``DEAD``: every access is an error until it is mounted anew; ``SILENT``: the server, or
    the program that serves the mount, does not answer now, and may do so later.
    """

    ANSWERS = 'answers'
    MISSING = 'missing'
    DEAD = 'dead'
    SILENT = 'silent'


@dataclass(frozen=True, slots=True)
class Mounted:
    """A line of the host's mount table."""

    source: str
    path: str
    kind: str
    options: frozenset[str]

    @property
    def level(self) -> str:
        """The access level: 'rw' or 'ro'."""
        return 'ro' if 'ro' in self.options else 'rw'


def table(text: str) -> list[Mounted]:
    """Return the entries of ``/proc/mounts``, oldest first."""
    mounts = []
    for line in text.split('\n'):
        fields = [_plain(word) for word in line.split(' ')]
        if len(fields) >= 4:
            mounts.append(Mounted(fields[0], fields[1], fields[2], frozenset(fields[3].split(','))))
    return mounts


def _plain(word: str) -> str:
    """Return a field without the kernel's octal escapes of white space, backslashes and ``#``."""
    return re.sub(r'\\([0-7]{3})', lambda match: chr(int(match[1], 8)), word)


def split(export: str) -> tuple[str, str]:
    """Return the server's address, without the brackets of IPv6, and the directory that it exports.

    :raises errors.Invalid: it is no NFS export location.
    """
    match = re.fullmatch(r'(?:\[([0-9A-Fa-f:.%]+)\]|([^:\[\]/\s]+)):(/\S*|/)', export)
    if match is None:
        raise errors.Invalid(f'"{export}" is not an NFS export location.')
    return match[1] or match[2], match[3]


@dataclass(frozen=True)
class NfsMounter:
    """Mounts of one host. ``options`` are those of the kernel's NFS client, beside rw or ro.

    ``way`` is a key of ``WAYS`` or 'auto'; ``local`` maps the beginning of an export location that this host serves
    itself (``192.0.2.7:/shares``) to the directory that is exported; ``python`` runs the FUSE program on that host.
    A mount ends or fails within ``mount_seconds``, and an unmount within ``unmount_seconds``. ``force``: a lazy unmount
    also ends what waits for the server, and does not ask the server about the path.
    """

    executor: Executor
    options: str = 'vers=4.2'
    way: str = 'auto'
    local: Mapping[str, str] = field(default_factory=dict)
    python: str = 'python3'
    mount_seconds: float = _SECONDS
    unmount_seconds: float = _SECONDS
    force: bool = False

    # Looking ----------------------------------------------------------------------------------

    def mounts(self, base: str = '') -> list[Mounted]:
        """Return the mounts of the host, or those below a directory.

        :raises errors.Unavailable: the host cannot be asked.
        """
        ended = self.executor.run(['cat', '/proc/mounts'])
        if ended.status:
            raise errors.Unavailable(f'the table of mounts cannot be read: {ended.said}')
        return [
            mount for mount in table(ended.out) if not base or mount.path.startswith(f'{base.rstrip("/")}/')
        ]

    def mounted(self, path: str) -> Mounted | None:
        """Return the mount at exactly this path, the newest of several."""
        return next((mount for mount in reversed(self.mounts()) if mount.path == path), None)

    def health(self, path: str, seconds: float = _SECONDS) -> Health:
        """Return the state of the mount at this path, within so many seconds.

        :raises errors.Unavailable: the host cannot be asked.
        """
        if self.mounted(path) is None:
            return Health.MISSING
        end = time.monotonic() + seconds
        try:
            # The kernel's client answers the second from its cache, libnfs the first without its server.
            for words in (['stat', '-f', '--', path], ['stat', '--', path]):
                ended = self.executor.run(words, seconds=max(end - time.monotonic(), 0.1))
                if ended.status and _DEAD.search(ended.said):
                    return Health.DEAD
        except TimedOut:
            return Health.SILENT
        return Health.ANSWERS

    # Mounting ---------------------------------------------------------------------------------

    def mount(self, export: str, path: str, *, level: str = 'rw') -> None:
        """Mount the export at the path, with the level 'rw' or 'ro'; make the directory.

        A mount that is there already stays, if it is of this level and answers.

        :raises MountFailed: the host or the server refused, or another mount is at the path.
        :raises TimedOut: the server did not answer within ``mount_seconds``.
        :raises errors.Unavailable: the host cannot be reached.
        """
        end = time.monotonic() + self.mount_seconds
        way = self.way_of(export)
        there = self.mounted(path)
        if there is not None and not self._answers(path):
            self._run(['umount', '--lazy', path], end)
            there = None
        if there is not None:
            self._must_be(there, export, level, way)
            return
        self._run(['mkdir', '-p', '--', path], end)
        for words in WAYS[way](self, export, path, level):
            self._run(words, end)
        there = self.mounted(path)
        if there is None:
            raise MountFailed(f'{export} is not in the table of mounts after it was mounted on {path}.')
        self._must_be(there, export, level, way)

    def unmount(self, path: str, *, lazy: bool = False) -> None:
        """Unmount the path. ``lazy``: remove the mount from the tree at once; it ends when its last user ends.

        :raises MountBusy: it is in use, and ``lazy`` was not asked for.
        :raises MountFailed: it stays for another reason.
        :raises TimedOut: the server did not answer within ``unmount_seconds``.
        """
        how = ['--lazy', *(['--force', '--no-canonicalize'] if self.force else [])] if lazy else []
        while self.mounted(path) is not None:
            ended = self.executor.run(['umount', *how, path], seconds=self.unmount_seconds)
            if ended.status and self.mounted(path) is not None:
                raise (MountBusy if 'busy' in ended.said else MountFailed)(f'{path}: {ended.said}')

    def _run(self, words: Sequence[str], end: float) -> None:
        ended = self.executor.run(words, seconds=max(end - time.monotonic(), 0.1))
        if ended.status:
            raise MountFailed(f'{words[0]}: {ended.said}')

    def _answers(self, path: str) -> bool:
        """Say whether the mount can be kept.

        :raises TimedOut: its server does not answer.
        """
        health = self.health(path, self.mount_seconds)
        if health is Health.SILENT:
            raise TimedOut(f'{path}: no answer within {self.mount_seconds:g} s')
        return health is not Health.DEAD

    def _must_be(self, there: Mounted, export: str, level: str, way: str) -> None:
        if way != 'local' and there.source.rstrip('/') != export.rstrip('/'):
            raise MountFailed(f'{there.source} is mounted on {there.path}, where {export} should be.')
        if there.level != level:
            raise MountFailed(f'{there.path} is mounted {there.level}, and should be {level}.')

    # Ways -------------------------------------------------------------------------------------

    def way_of(self, export: str) -> str:
        """Return the way to mount the export here, a key of ``WAYS``.

        :raises MountFailed: this host has no way.
        """
        if self.way != 'auto':
            return self.way
        if self.source_of(export):
            return 'local'
        if self._kernel_can():
            return 'kernel'
        if (
            self.executor.run(['test', '-c', '/dev/fuse']).status == 0
            and self.executor.run([self.python, '-c', f'import {_LIBNFS}']).status == 0
        ):
            return 'fuse'
        raise MountFailed('This host has neither an NFS client in its kernel nor FUSE with libnfs.')

    def _kernel_can(self) -> bool:
        known = self.executor.run(['grep', '-qw', 'nfs4', '/proc/filesystems']).status == 0
        return known or self.executor.run(['modprobe', '-q', 'nfsv4']).status == 0

    def source_of(self, export: str) -> str:
        """Return the directory of this host behind the export; an empty text if another host serves it."""
        for start, directory in self.local.items():
            rest = export.removeprefix(start.rstrip('/') + '/')
            if rest != export and not {'', '.', '..'} & set(rest.split('/')):
                return f'{directory.rstrip("/")}/{rest}'
        return ''


def _kernel(mounter: NfsMounter, export: str, path: str, level: str) -> list[list[str]]:
    options = ','.join(word for word in (level, mounter.options) if word)
    return [['mount', '-t', 'nfs', '-o', options, export, path]]


def _local(mounter: NfsMounter, export: str, path: str, level: str) -> list[list[str]]:
    source = mounter.source_of(export)
    if not source:
        raise MountFailed(f'{export} is not served by this host.')
    return [['mount', '--bind', source, path], ['mount', '-o', f'remount,bind,{_SAFE},{level}', path]]


def _fuse(mounter: NfsMounter, export: str, path: str, level: str) -> list[list[str]]:
    address, directory = split(export)
    return [[mounter.python, '-m', _LIBNFS, '--level', level, '--', address, directory, path]]


#: The ways to mount an export, each with its commands.
WAYS: dict[str, Callable[[NfsMounter, str, str, str], list[list[str]]]] = {
    'kernel': _kernel,
    'local': _local,
    'fuse': _fuse,
}
