# SPDX-License-Identifier: Apache-2.0
"""The state of the dummy on disk: one file for each share, snapshot, share server and backup, so that no kill loses
any.
"""

import collections
import contextlib
import dataclasses
import fcntl
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from manila_lite import errors

#: Excludes paths out of a folder, and names of drafts.
_SAFE = re.compile(r'[A-Za-z0-9_-][A-Za-z0-9_.-]*')


@dataclasses.dataclass
class ShareRecord:
    """A share. ``size`` and ``used`` are in GiB; ``rules`` are those in force: id to type, to, level.

    A reboot would lose ``exported`` and ``rules``. ``content`` stands for all files of the share. ``server`` is the id
    of the share server that exports it, ``qos`` has its QoS specs, ``key`` is the id of its encryption key. ``ours`` is
    false for an unmanaged share, which can be managed again; ``was`` is the path that it had then. ``role`` is
    'replica' for a replica that is not active.
    """

    id: str
    pool: str
    size: int
    proto: str
    path: str
    content: str = ''
    used: float = 0.0
    exported: bool = True
    rules: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    server: str | None = None
    ours: bool = True
    was: str = ''
    qos: dict[str, str] = dataclasses.field(default_factory=dict)
    key: str | None = None
    role: str = ''


@dataclasses.dataclass
class SnapshotRecord:
    """A snapshot, with the content of its share. ``name`` is the backend's name of the snapshot, if that is not its id.

    ``path`` is the path of its share while the snapshot is unmanaged. ``exported`` and ``rules`` as of shares.
    """

    id: str
    share_id: str
    size: int
    content: str
    used: float
    name: str = ''
    ours: bool = True
    path: str = ''
    exported: bool = False
    rules: dict[str, list[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class ServerRecord:
    """A share server with its addresses by subnet, the metadata of each subnet, and its security services by type.

    The addresses for administrators are under ''. A reboot would reset ``running``. ``name`` is the backend's name of
    the server, if that is not its id. ``ours`` is false for an unmanaged server, which can be managed again.
    """

    id: str
    addresses: dict[str, list[str]]
    metadata: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    running: bool = True
    services: dict[str, str] = dataclasses.field(default_factory=dict)
    name: str = ''
    ours: bool = True


@dataclasses.dataclass
class BackupRecord:
    """A backup, with the share's content when it began. ``percent`` is its progress, ``restored`` that of restores by
    share.
    """

    id: str
    share_id: str
    content: str
    used: float
    percent: int = 0
    restored: dict[str, int] = dataclasses.field(default_factory=dict)


#: Differs between two versions of a file.
_FileVersion = tuple[int, int]
Record = TypeVar('Record', ShareRecord, SnapshotRecord, ServerRecord, BackupRecord)


class Records(Generic[Record]):
    """One folder of records. Records are written atomically."""

    def __init__(self, folder: Path, kind: type[Record]):
        self.folder = folder
        self.kind: type[Record] = kind
        self._seen: dict[str, tuple[_FileVersion, Record]] = {}
        self._scanned: int | None = None

    def get(self, record_id: str) -> Record | None:
        try:
            return self._read(self._file(record_id))
        except FileNotFoundError:
            return None

    def put(self, record: Record) -> None:
        target = self._file(record.id)
        unchanged = self._is_known()
        with tempfile.NamedTemporaryFile('w', dir=self.folder, prefix='.', delete=False) as draft:
            json.dump(dataclasses.asdict(record), draft)
        os.replace(draft.name, target)
        self._note(record.id, (_file_version(target.stat()), dataclasses.replace(record)))
        self._scanned = self._changed() if unchanged else None

    def drop(self, record_id: str) -> None:
        target = self._file(record_id)
        unchanged = self._is_known()
        target.unlink(missing_ok=True)
        self._note(record_id, None)
        self._scanned = self._changed() if unchanged else None

    def known(self) -> list[Record]:
        """Return every record. The files are read only if another process changed the folder."""
        return [record for _file_version, record in self._seen.values()] if self._is_known() else self.all()

    def all(self) -> list[Record]:
        """Return every record; only changed files are read again. The caller holds the lock."""
        seen = {}
        changed = self._changed()
        for entry in os.scandir(self.folder):
            if entry.name.startswith('.'):
                continue
            seen[entry.name] = self._fresh(entry)
        self._seen, self._scanned = seen, changed
        return [record for _file_version, record in seen.values()]

    def _note(self, record_id: str, seen: tuple[_FileVersion, Record] | None) -> None:
        """Remember a record with the version of its file. None: the file is gone."""
        if seen is None:
            self._seen.pop(record_id, None)
        else:
            self._seen[record_id] = seen

    def _fresh(self, entry: os.DirEntry[str]) -> tuple[_FileVersion, Record]:
        version = _file_version(entry.stat())
        known = self._seen.get(entry.name)
        if known and known[0] == version:
            return known
        return version, self._read(Path(entry.path))

    def _changed(self) -> int:
        return self.folder.stat().st_mtime_ns

    def _is_known(self) -> bool:
        return self._scanned is not None and self._scanned == self._changed()

    def _read(self, file: Path) -> Record:
        record: Record = self.kind(**json.loads(file.read_text()))
        return record

    def _file(self, record_id: str) -> Path:
        """Return the file of a record.

        :raises errors.Final: the id is not safe as a file name.
        """
        if not _SAFE.fullmatch(record_id):
            raise errors.Final(f'{record_id!r} is not an id of a share, snapshot or share server')
        return self.folder / record_id


def _file_version(stat: os.stat_result) -> _FileVersion:
    return stat.st_ino, stat.st_mtime_ns


class ShareRecords(Records[ShareRecord]):
    """The records of shares, with the sum of their sizes in each pool."""

    def __init__(self, folder: Path):
        super().__init__(folder, ShareRecord)
        self._sizes: collections.Counter[str] | None = None

    def allocated(self, pool: str) -> int:
        """Return the sum of the sizes of the pool's shares, in GiB. Its cost does not grow with their number.

        The caller holds the lock.
        """
        if self._sizes is None or not self._is_known():
            sizes: collections.Counter[str] = collections.Counter()
            for record in self.all():
                sizes[record.pool] += record.size
            self._sizes = sizes
        return self._sizes[pool]

    def all(self) -> list[ShareRecord]:
        self._sizes = None
        return super().all()

    def _note(self, record_id: str, seen: tuple[_FileVersion, ShareRecord] | None) -> None:
        if self._sizes is not None:
            for sign, one in ((-1, self._seen.get(record_id)), (1, seen)):
                if one is not None:
                    self._sizes[one[1].pool] += sign * one[1].size
        super()._note(record_id, seen)


class Store:
    """The state directory of a backend. Safe for threads, and for a test's process beside the service's."""

    def __init__(self, root: Path):
        self.root = root
        self.shares = ShareRecords(root / 'shares')
        self.snapshots = Records(root / 'snapshots', SnapshotRecord)
        self.servers = Records(root / 'servers', ServerRecord)
        self.backups = Records(root / 'backups', BackupRecord)

    def prepare(self) -> None:
        """Make the folders, and delete drafts of a killed process."""
        for records in (self.shares, self.snapshots, self.servers, self.backups):
            records.folder.mkdir(parents=True, exist_ok=True)
            with self.locked():
                for draft in records.folder.glob('.*'):
                    draft.unlink()

    def neighbour(self, host: str) -> 'Store':
        """Return the store of another dummy on the same machine, by its ``host`` (host@backend)."""
        return Store(self.root.parent / host.partition('@')[2])

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other threads and processes from changing records. The kernel drops the lock when the process dies."""
        with (self.root / 'lock').open('a') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def held(self, share_id: str) -> ShareRecord | None:
        record = self.shares.get(share_id)
        return record if record and record.ours else None

    def share(self, share_id: str) -> ShareRecord:
        """Return a managed share.

        :raises errors.Final: it is missing.
        """
        record = self.held(share_id)
        if record is None:
            raise errors.Final(f'Share {share_id} is not on this backend.')
        return record

    def snapshot(self, snapshot_id: str) -> SnapshotRecord:
        """Return a managed snapshot.

        :raises errors.Final: it is missing.
        """
        record = self.snapshots.get(snapshot_id)
        if record is None or not record.ours:
            raise errors.Final(f'Snapshot {snapshot_id} is not on this backend.')
        return record

    def server(self, server_id: str) -> ServerRecord:
        """Return a managed share server that runs.

        :raises errors.Final: it is missing, or does not run.
        """
        record = self.servers.get(server_id)
        if record is None or not (record.running and record.ours):
            raise errors.Final(f'Share server {server_id} does not run on this backend.')
        return record

    def note_call(self, method: str, ids: Sequence[str]) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / 'calls').open('a') as calls:
            calls.write(f'{method} {",".join(ids) or "-"}\n')

    def calls(self, method: str | None = None) -> list[tuple[str, str]]:
        """Return the calls so far as (method, ids): all, or those of one method."""
        try:
            lines = (self.root / 'calls').read_text().splitlines()
        except FileNotFoundError:
            return []
        pairs = (line.partition(' ') for line in lines)
        return [(name, ids) for name, _space, ids in pairs if method in (None, name)]
