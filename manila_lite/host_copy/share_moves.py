# SPDX-License-Identifier: Apache-2.0
"""Copies of shares that move from one backend to another, of any drivers: this host mounts both sides as a client does.

A move is known by the id of the target. Each copy of it is a pass: the next one finds what changed since. The last pass,
with nobody writing any more, is followed by a comparison.
"""

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from oslo_log import log
from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.host import durable
from manila_lite.host.commands import ENV, CommandFailed
from manila_lite.host_copy import exports, rsync
from manila_lite.host_copy.clients import CLIENTS, Admitted, Client, Side, protocol_of
from manila_lite.host_copy.copies import LETTERS, Copies, explained

LOG = log.getLogger(__name__)

#: The programs that each copy needs, and their packages.
_PROGRAMS = {'rsync': 'rsync', 'bwrap': 'bubblewrap', 'find': 'findutils', 'mount': 'mount'}
#: Letters of the name of this process in ids.
_NAME_LETTERS = 12
#: What mount(8) says if the server can be reached, and does not admit this host.
_CLOSED = re.compile(r'(?i)access denied|permission denied|no such file or directory|mount error\((?:2|13)\)')


class CannotMount(CommandFailed):
    """A side of the move cannot be mounted; the text has the message of mount, for the operator."""


class ShareMoves(Copies):
    """Moves of shares to one backend. ``state`` is its own directory, by its real path; ``section`` has its options,
    and ``conf`` those of ``conf/data.py``.
    """

    what = 'migration'

    def __init__(self, state: Path, conf: Any, section: Any):
        super().__init__(
            (Path(conf.mount_tmp_location, 'manila_lite', state.name) if conf.mount_tmp_location else state)
            / 'moves'
        )
        self._conf = conf
        self._section = section
        name = uuidutils.generate_uuid(dashed=False)[:_NAME_LETTERS]
        self._clients = {protocol: client(conf, name) for protocol, client in CLIENTS.items()}
        #: The client with which each side is mounted, by mount point.
        self._mounted: dict[Path, Client] = {}
        self._losses: dict[str, tuple[str, ...]] = {}

    # Before ---------------------------------------------------------------------------------------

    def objection(self, source: values.Share) -> str:
        """Return why this host cannot copy the share, or ''."""
        try:
            location = exports.location_of(source)
            self.clients_of(source)
            programs = {**_PROGRAMS, **({} if self._directory(location) else self._client(source).PROGRAMS)}
        except errors.Final as bad:
            return str(bad)
        lacks = {
            package for program, package in programs.items() if not shutil.which(program, path=ENV['PATH'])
        }
        return f'The host of the destination lacks the packages {" ".join(sorted(lacks))}.' if lacks else ''

    def mount_objection(self, source: values.Share) -> str:
        """Return why this host cannot mount the share, or '', after it was tried. Nothing is changed at the share: that it does
        not admit this host yet is no objection.
        """
        location, path = exports.location_of(source), self.mount_points(source.id)[0]
        try:
            self._must_be_ours()
            if directory := self._directory(location):
                return (
                    ''
                    if os.path.isdir(directory)
                    else f'data_node_local_exports: there is no directory {directory}.'
                )
            with contextlib.ExitStack() as mounted:
                mounted.callback(self.unmount, path)
                self._client(source).try_out(source, location, path)
        except errors.Final as bad:
            return str(bad)
        except CommandFailed as bad:
            if _CLOSED.search(str(bad)):
                return ''
            LOG.warning('A mount was tried, since this host may have to copy the share: %s', bad)
            return f'The host that copies cannot mount {location}: {_said(bad, path)}'
        return ''

    def clients_of(self, share: values.Share) -> tuple[Admitted, ...]:
        """Return as whom this host mounts the share; the backend has to admit them.

        :raises errors.Final: the share cannot be mounted, or there is no route to its server.
        """
        try:
            return self._client(share).admitted(share)
        except errors.Final:
            if self._directory(exports.location_of(share)):
                return ()  # it is not mounted as a client does
            raise

    def _client(self, share: values.Share) -> Client:
        return self._clients[protocol_of(share)]

    def has_snapshots_inside(self, share: values.Share) -> bool:
        """Say whether the content of a snapshot is within the share. Else it has an export location of its own."""
        return self._client(share).has_snapshots_inside

    def _directory(self, location: str) -> str:
        return directory_of(location, self._conf.data_node_local_exports)

    # Copying --------------------------------------------------------------------------------------

    def mount_points(self, copy_id: str) -> tuple[Path, Path]:
        return self.folder / f'{copy_id}.from', self.folder / f'{copy_id}.to'

    def copy(self, source: Side, target: Side) -> rsync.Copy:
        """Return the present pass; start one if there is none, or if it failed.

        :raises errors.Final: passes failed too often, or would fail each time; with the first paths.
        :raises CannotMount: a side cannot be mounted.
        """
        return self._copy(source, target, rsync.SAME)

    def copy_content(self, source: Side, target: Side) -> rsync.Copy:
        """Do as ``copy``, but find changes by content: a client can set the time of a file that it has changed."""
        return self._copy(source, target, rsync.SAME_CONTENT)

    def _copy(self, source: Side, target: Side, how: str) -> rsync.Copy:
        return self._run(
            source,
            target,
            lambda *paths: self._kind(self.mount_points(target.share.id))(
                *paths,
                how,
                *rsync.at_rate(self._conf.data_copy_bandwidth_limit),
                *self._ignored,
                vet=not os.listdir(paths[1]),
                at_most=rsync.apparent(source.share.size, self._conf.data_copy_apparent_ratio),
            ),
        )

    def compare(self, source: Side, target: Side) -> rsync.Copy:
        """Return the comparison of all files of both sides; start it if it does not run. It changes nothing. Raises as
        ``copy``.
        """
        how = rsync.SAME_CONTENT if self._conf.check_hash else rsync.SAME
        return self._run(
            source, target, lambda *paths: rsync.Copy(*paths, how, *rsync.COMPARE, *self._ignored)
        )

    def compare_some(self, source: Side, target: Side) -> rsync.Copy:
        """Return the comparison of the content of some files; start it if it does not run. Raises as ``copy``."""
        return self._run(
            source,
            target,
            lambda *paths: rsync.Sample(
                *paths, *self._ignored, count=0 if self._conf.check_hash else self._conf.data_check_sample
            ),
        )

    def write_out(self, move_id: str) -> None:
        """Do as ``durable.write_out``, for the copy."""
        path = self.mount_points(move_id)[1]
        durable.write_out(path)
        if client := self._mounted.get(path):
            client.settle(path, durable.WRITE_SECONDS)

    def losses(self, move_id: str) -> tuple[str, ...]:
        """Return which attributes of files the copy, which has begun, cannot have."""
        return self._losses.get(move_id, ())

    def release(self, copy_id: str) -> None:
        self._losses.pop(copy_id, None)

    @property
    def _ignored(self) -> tuple[str, ...]:
        return rsync.without(self._section.migration_ignore_files)

    def _kind(self, paths: tuple[Path, Path]) -> type[rsync.Copy]:
        client = self._client_at(paths)
        return client.COPY if client else rsync.Copy

    def _client_at(self, paths: tuple[Path, Path]) -> Client | None:
        """Return the client that mounted a side, or None if this host has the directories of both."""
        return next((self._mounted[path] for path in paths if path in self._mounted), None)

    def _run(self, source: Side, target: Side, start: Callable[[Path, Path], rsync.Copy]) -> rsync.Copy:
        move_id = target.share.id

        def begin() -> rsync.Copy:
            self._must_be_ours()
            paths = self.mount_points(move_id)
            directories = self._directories(source, target)
            content = (
                self._mount(source, paths[0], 'ro', directories[0]),
                self._mount(target, paths[1], 'rw', directories[1]),
            )
            client = self._client_at(paths)
            self._losses[move_id] = (*exports.losses(paths[0]), *(client.UNSEEN if client else ()))
            return start(*content)

        return self.poll(move_id, begin, self._explain)

    def _explain(self, copy: rsync.Copy, times: int) -> str:
        return explained(
            copy,
            'The copy broke {times} times.',
            keeper='the destination',
            times=times,
            ratio=self._conf.data_copy_apparent_ratio,
            option='data_copy_apparent_ratio',
        )

    # Mounts ---------------------------------------------------------------------------------------

    def _must_be_ours(self) -> None:
        """Refuse a directory for mount points that another user could have made.

        :raises errors.Final: it is one.
        """
        if not self._conf.mount_tmp_location:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (self.folder, *self.folder.parents[:2]):
            about = os.lstat(path)
            if (
                not stat.S_ISDIR(about.st_mode)
                or about.st_uid not in (0, os.geteuid())
                or about.st_mode & 0o022
            ):
                raise errors.Final(
                    f'mount_tmp_location: other users could change {path}; name a directory that only root can '
                    'write to.'
                )

    def _directories(self, *sides: Side) -> Sequence[str]:
        """Return the directory to use in place of a mount of each side, or ''."""
        found = [self._directory(side.location) for side in sides]
        return (
            found
            if all(found) or all(self._client(side.share).shows_all for side in sides)
            else [''] * len(sides)
        )

    def _mount(self, side: Side, path: Path, level: str, directory: str) -> Path:
        """Mount the share, or the directory behind its export if there is one. Return the directory with its content.

        :raises CannotMount: it cannot be mounted.
        """
        location, client = side.location, self._client(side.share)
        self.unmount(path)
        try:
            if directory:
                self.mount(directory, path, 'none', f'bind,{level}')
            else:
                self._mounted[path] = client
                client.mount(side, location, path, level)
            return client.content(side, path)
        except CommandFailed as bad:
            raise CannotMount(f'The host that copies cannot mount {location}: {_said(bad, path)}') from bad

    def unmount(self, path: Path) -> None:
        """Unmount the path with the client that mounted it, or whichever it was: another process may have."""
        if client := self._mounted.pop(path, None):
            client.unmount(path)
            return
        for client in self._clients.values():
            client.unmount(path)


def _said(bad: CommandFailed, path: Path) -> str:
    """Return the message of mount, without its arguments."""
    lines = str(bad).rpartition(f'{path}: ')[2].splitlines()
    return lines[0].rstrip('.') + '.' if lines else 'mount failed.'


def directory_of(location: str, local: Iterable[str]) -> str:
    """Return the directory of this host behind an export location, or ''. ``local``: as in data_node_local_exports. Several may
    begin with the same: the first directory that exists is meant, or else the first.
    """
    found = list(_directories(location, local))
    return next((path for path in found if os.path.isdir(path)), found[0] if found else '')


def _directories(location: str, local: Iterable[str]) -> Iterator[str]:
    location = location.replace('\\', '/')
    for entry in local:
        start, _, directory = entry.partition('=')
        rest = location.removeprefix(f'{start.rstrip("/")}/')
        if directory and rest != location and not {'', '.', '..'} & set(rest.split('/')):
            yield f'{directory.rstrip("/")}/{rest}'


def differing(paths: Iterable[str]) -> str:
    """Return a sentence with the paths that differ."""
    return f'Differing: {"; ".join(path[:LETTERS] for path in paths)}.'
