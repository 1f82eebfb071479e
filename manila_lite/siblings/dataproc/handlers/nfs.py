# SPDX-License-Identifier: Apache-2.0
"""Shares over NFS: the node's kernel mounts them, and fstab has them for the next boot."""

import contextlib
import enum
import math
import os
import re
from collections.abc import Iterator, Sequence

from manila_lite import errors
from manila_lite.siblings.dataproc import paths
from manila_lite.siblings.dataproc.handlers import client, fstab
from manila_lite.siblings.dataproc.interface import Busy, Mount, NodeAway, Remote, ShareHandler, TooLong
from manila_lite.siblings.nfs import Ended, MountBusy, Mounted, MountFailed, NfsMounter

#: Errors of mount.nfs for which the server may answer later.
_LATER = re.compile('timed out|refused|unreachable|no route to host|try again', re.IGNORECASE)
_PAUSE = 5.0
#: Statuses of timeout(1) after it killed its command: of coreutils, and of busybox.
_KILLED = frozenset({124, 137, 143})
_FIRST_NAME = 'ls -A -- "$1" | head -c 1'
_LAZY = '{} was in use, so it was unmounted lazily: who uses it still writes to the share until that ends.'


class Answer(enum.Enum):
    """The answer of a mount: it serves, it reports an error such as a stale handle, or there is none in time."""

    HERE = enum.auto()
    STALE = enum.auto()
    NONE = enum.auto()


class _Executor:
    """An executor that runs a mounter's commands on a node."""

    def __init__(self, remote: Remote):
        self._remote = remote

    def run(self, words: Sequence[str], *, seconds: float | None = None) -> Ended:
        done = self._remote.run(words, timeout=seconds)
        return Ended(done.status, os.fsdecode(done.out), os.fsdecode(done.err))


class NfsHandler(ShareHandler):
    """The kernel's NFS client."""

    protocol = 'NFS'

    def setup(self, remote: Remote) -> None:
        client.ensure(remote, self.conf.dataproc_nodes.install_timeout)

    def mount(self, remote: Remote, mount: Mount) -> None:
        """See ``ShareHandler.mount``. A mount of ours of another level or share, or with a stale handle, is unmounted first."""
        with _said(mount):
            mounter, path = self._mounter(remote), self._made(remote, mount.path)
            there = mounter.mounted(path)
            if there is None:
                self._must_hide_nothing(remote, mount, path)
            elif not _fits(there, mount):
                if not self._ours(remote, there, mount):
                    raise errors.Final(f'Something else is mounted on {mount.path}: {there.source}')
                _unmounted(mounter, path, force=self._answer(remote, path) is not Answer.HERE)
            else:
                self._revive(remote, mounter, path, mount)
            mounter.mount(mount.export, path, level=mount.level)
            fstab.put(remote, mount, self._options())

    def unmount(self, remote: Remote, mount: Mount, force: bool = False) -> str:
        with _said(mount):
            mounter, path = self._mounter(remote), _real(remote, mount.path)
            there, note = mounter.mounted(path), ''
            if there is not None and self._ours(remote, there, mount):
                note = _unmounted(mounter, path, force)
            fstab.take_out(remote, mount.path)
            # Deletes the directory only if it is empty; mounts of others stay.
            remote.run(['rmdir', '--', mount.path])
            return note

    def is_mounted(self, remote: Remote, mount: Mount) -> bool:
        with _said(mount):
            path = _real(remote, mount.path)
            there = self._mounter(remote).mounted(path)
            return there is not None and _fits(there, mount) and self._answer(remote, path) is Answer.HERE

    def clean(self, remote: Remote) -> None:
        """See ``ShareHandler.clean``. Our lines in fstab tell what was mounted."""
        for path in fstab.paths(fstab.read(remote)):
            self.unmount(remote, Mount('', '', path), force=True)

    def _answer(self, remote: Remote, path: str) -> 'Answer':
        """Ask what is mounted there for an answer. Only a kill ends a command that waits for an NFS server."""
        seconds = str(math.ceil(self.conf.dataproc_nodes.answer_timeout))
        done = remote.run(['timeout', '-s', 'KILL', seconds, 'stat', '-f', '--', path])
        if done.status == 0:
            return Answer.HERE
        return Answer.NONE if done.status in _KILLED else Answer.STALE

    def _revive(self, remote: Remote, mounter: NfsMounter, path: str, mount: Mount) -> None:
        """Unmount what answers with an error. What does not answer stays: it goes on by itself when its server is back.

        :raises errors.Again: it does not answer.
        """
        answer = self._answer(remote, path)
        if answer is Answer.NONE:
            seconds = self.conf.dataproc_nodes.answer_timeout
            raise errors.Again(
                _PAUSE, f'The NFS server of {mount.export} does not answer within {seconds:g} s.'
            )
        if answer is Answer.STALE:
            mounter.unmount(path, lazy=True)

    def _must_hide_nothing(self, remote: Remote, mount: Mount, path: str) -> None:
        """Refuse a directory with files, unless our line in fstab says that the share belongs there.

        :raises errors.Final: the share would hide these files.
        """
        there = remote.run(['sh', '-c', _FIRST_NAME, 'mlite', path])
        if there.out and not fstab.has(fstab.read(remote), mount.path):
            raise errors.Final(f'{mount.path} is not empty on this node; the share would hide what is in it.')

    def _mounter(self, remote: Remote) -> NfsMounter:
        # mount.nfs would try for two minutes; the caller retries in a better way.
        return NfsMounter(_Executor(remote), options=f'{self._options()},retry=0', way='kernel')

    def _options(self) -> str:
        nodes = self.conf.dataproc_nodes
        return ','.join([f'vers={nodes.nfs_version}', *nodes.nfs_options])

    def _made(self, remote: Remote, path: str) -> str:
        """Make the directory. Returns its real path: a part of the path may be a link on that node.

        :raises errors.Final: it cannot be made, or its real path belongs to the system.
        """
        folder = _real(remote, path)
        # A look into a mount whose server does not answer would hang.
        if self._mounter(remote).mounted(folder) is None:
            made = remote.run(['mkdir', '-p', '--', path])
            if made.status:
                raise errors.Final(f'{path} cannot be made: {os.fsdecode(made.err).strip()}')
            folder = _real(remote, path)
        try:
            return folder if folder == path else paths.normal(folder)
        except errors.Invalid as bad:
            raise errors.Final(f'{path} is {folder} on this node. {bad}') from bad

    def _ours(self, remote: Remote, there: Mounted, mount: Mount) -> bool:
        """Say whether the mount at a path of ours is the share, or has our line in fstab."""
        return _is_nfs(there) and (
            _same(there.source, mount.export) or fstab.has(fstab.read(remote), mount.path)
        )


def _unmounted(mounter: NfsMounter, path: str, force: bool) -> str:
    """Unmount the path. Returns a note about a lazy unmount, else an empty text."""
    try:
        mounter.unmount(path)
    except (MountBusy, MountFailed, errors.Unavailable):
        if not force:
            raise
        # An unmount hangs when the server does not answer.
        mounter.unmount(path, lazy=True)
        return _LAZY.format(path)
    return ''


@contextlib.contextmanager
def _said(mount: Mount) -> Iterator[None]:
    """Translate errors of a mounter into errors of a ``ShareHandler``."""
    try:
        yield
    except MountBusy as bad:
        raise Busy(str(bad)) from bad
    except MountFailed as bad:
        if _LATER.search(str(bad)):
            raise errors.Again(_PAUSE, str(bad)) from bad
        raise errors.Final(str(bad)) from bad
    except errors.Invalid as bad:
        raise errors.Final(str(bad)) from bad
    except TooLong as bad:
        raise errors.Again(
            _PAUSE, f'{bad}; perhaps the NFS server of {mount.export} does not answer.'
        ) from bad
    except NodeAway:
        raise
    except errors.Unavailable as bad:
        raise errors.Again(_PAUSE, str(bad)) from bad


def _real(remote: Remote, path: str) -> str:
    """Return the real path on the node, as the mount table has it."""
    ended = remote.run(['readlink', '-f', '--', path])
    return os.fsdecode(ended.out).removesuffix('\n') if ended.status == 0 and ended.out else path


def _fits(there: Mounted, mount: Mount) -> bool:
    return _is_nfs(there) and _same(there.source, mount.export) and there.level == mount.level


def _is_nfs(there: Mounted) -> bool:
    # nfs, nfs4, or fuse.nfs where mount.nfs is a client in user space.
    return there.kind.removeprefix('fuse.').startswith('nfs')


def _same(source: str, export: str) -> bool:
    return source.rstrip('/') == export.rstrip('/')
