# SPDX-License-Identifier: Apache-2.0
"""The subvolumes of one group of a file system, and whose shares they are.

A share is the subvolume with its id as the name, or one that an administrator had managed as it. The mark of a subvolume, a
key of its metadata in the cluster, says which share it is, so another host that takes the backend over knows it, too.
"""

import dataclasses
import errno
import json
from collections.abc import Mapping
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.answers import Refused, tolerated
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.computed_once import computed_once
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.host.ids import SAFE_ID, vet_id

GIB = 1 << 30
#: The default group, as it is in paths.
NO_GROUP = '_nogroup'
#: Keys of metadata: the share, or snapshot, that it is; the auth ids that may have access; and those whose sessions must still
#: be ended.
SHARE, SNAPSHOT = 'manila_lite.share', 'manila_lite.snapshot'
NOTED, TO_EVICT = 'manila_lite.auth_ids', 'manila_lite.to_evict'
#: The mark of what was managed once, and is no more.
UNMANAGED = 'unmanaged'
#: State of a subvolume that is deleted but for its snapshots.
_RETAINED = 'snapshot-retained'
#: Parts of the path of a subvolume: group, name, and the directory with its data.
_PARTS = 3


@dataclasses.dataclass(frozen=True)
class Subvolume:
    """A subvolume as it is in the cluster. ``path`` is '' if only its snapshots are left; ``quota`` is in bytes.

    ``is_half``: a manager of the cluster died while it made this. ``namespace`` is that of its objects.
    """

    name: str
    path: str
    quota: int | None
    used: int
    data_pool: str
    marks: Mapping[str, str]
    is_half: bool = False
    namespace: str = ''

    @property
    def is_retained(self) -> bool:
        """Whether it is deleted, and only its snapshots are left."""
        return not self.path and not self.is_half

    @property
    def has_directory(self) -> bool:
        """Whether its data is in a directory of its own below that with its name. Very old subvolumes have none; nor has a new
        one if the cluster was asked for it once more after a manager died that had begun it.
        """
        return len(parts_of(self.path) or ()) == _PARTS


class Subvolumes:
    """The subvolumes of a backend's group, and no others. Safe for threads."""

    def __init__(self, cluster: Cluster, conf: CephfsOptions):
        self._cluster = cluster
        self._conf = conf

    # The file system --------------------------------------------------------------------------

    @computed_once
    def filesystem(self) -> str:
        """The name of the file system.

        :raises errors.Final: there is none of the name, or several, of which the option names none.
        """
        there = sorted(one['name'] for one in self._cluster.monitor('fs ls'))  # a manager may be away
        return choose_filesystem(self._conf.cephfs_filesystem_name, there)

    @property
    def group(self) -> str:
        """The name of the group, as it is in paths."""
        return self._conf.cephfs_subvolume_group or NO_GROUP

    def make_group(self) -> None:
        """Create the group that the option names, if it does not exist."""
        if self._conf.cephfs_subvolume_group:
            self._cluster.manager(
                'fs subvolumegroup create',
                vol_name=self.filesystem,
                group_name=self._conf.cephfs_subvolume_group,
                mode='755',
            )

    def ask(self, verb: str, name: str, **arguments: Any) -> Any:
        """Do a command of ``fs subvolume`` to the subvolume of this name in the group."""
        return self._cluster.manager(
            f'fs subvolume {verb}', vol_name=self.filesystem, sub_name=name, **self._in_group, **arguments
        )

    def ask_clone(self, verb: str, name: str) -> Any:
        """Do a command of ``fs clone`` to a subvolume that is copied from a snapshot, or was."""
        return self._cluster.manager(
            f'fs clone {verb}', vol_name=self.filesystem, clone_name=name, **self._in_group
        )

    def clone(self, source: str, snapshot: str, target: str) -> None:
        """Have the cluster begin to copy a snapshot of the subvolume ``source`` to a new subvolume."""
        target_group = self._conf.cephfs_subvolume_group
        self.ask(
            'snapshot clone',
            source,
            snap_name=snapshot,
            target_sub_name=target,
            **({'target_group_name': target_group} if target_group else {}),
        )

    @property
    def _in_group(self) -> dict[str, str]:
        group = self._conf.cephfs_subvolume_group
        return {'group_name': group} if group else {}

    def size_of(self, directory: str) -> int | None:
        """Return the bytes that are in a directory of the group, if that can be seen."""
        return self._cluster.directory_size(self.filesystem, f'/volumes/{self.group}/{directory}')

    # Subvolumes -------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return [
            one['name']
            for one in self._cluster.manager('fs subvolume ls', vol_name=self.filesystem, **self._in_group)
        ]

    def get(self, name: str) -> Subvolume | None:
        """Return the subvolume of this name, whosever it is; None if there is none, or it is still being copied."""
        if not SAFE_ID.fullmatch(name):
            return None
        try:
            info = self.ask('info', name)
            marks = self.ask('metadata ls', name) if info.get('path') else {}
        except Refused as refused:
            if refused.number == errno.ENODATA:  # it is a directory without layout
                return Subvolume(name, '', None, 0, '', {}, is_half=True)
            if refused.number in (errno.ENOENT, errno.EAGAIN):
                return None
            raise
        path = '' if info.get('state') == _RETAINED else info['path']
        quota = info.get('bytes_quota')  # or "infinite"
        return Subvolume(
            name,
            path,
            quota if isinstance(quota, int) else None,
            info.get('bytes_used') or 0,
            info.get('data_pool') or '',
            marks or {},
            namespace=info.get('pool_namespace') or '',
        )

    def find(self, share: values.Share, *, retained: bool = False) -> Subvolume | None:
        """Return the subvolume of the share. With ``retained`` also one of which only snapshots are left."""
        vet_id(share.id)
        found = self.get(share.id)
        if found and found.is_half:
            return None
        if found and (found.is_retained or found.marks.get(SHARE, share.id) == share.id):
            return found if retained or not found.is_retained else None
        return self._managed(share)

    def require(self, share: values.Share) -> Subvolume:
        """Return the subvolume of the share.

        :raises errors.Final: there is none.
        """
        found = self.find(share)
        if found is None:
            raise errors.Final(f'Share {share.id}: its data is not in the file system {self.filesystem}.')
        return found

    def _managed(self, share: values.Share) -> Subvolume | None:
        """Return the subvolume with another name that is managed as the share. Its export location names it, if it is
        stored already; else all have to be looked at.
        """
        known = [parts[1] for location in share.export_locations if (parts := parts_of(location.path))]
        for name in known:
            found = self.get(name)
            if found and found.marks.get(SHARE) == share.id:
                return found
        for name in self.names():
            if name not in known and name != share.id and self._mark_of(name) == share.id:
                return self.get(name)
        return None

    def _mark_of(self, name: str) -> str | None:
        try:
            marks = self.ask('metadata ls', name)
        except Refused:
            return None  # deleted meanwhile, or still being copied: then it is no managed one
        return (marks or {}).get(SHARE)

    def mark(self, name: str, key: str, value: str) -> None:
        """Give the subvolume a mark, durably."""
        self.ask('metadata set', name, key_name=key, value=value)

    def unmark(self, name: str, key: str) -> None:
        """Delete a mark, if it is there."""
        with tolerated(errno.ENOENT):
            self.ask('metadata rm', name, key_name=key)

    def resize(self, name: str, size: int, *, shrink: bool = False) -> None:
        """Set the limit, in GiB. With ``shrink`` Ceph refuses one below what is used."""
        self.ask('resize', name, new_size=str(size * GIB), **({'no_shrink': True} if shrink else {}))


def note(subvolumes: Subvolumes, name: str, key: str, before: Any, now: Any) -> None:
    """Give the subvolume a mark with a value, or none if there is no value; ``before`` is that of its present mark."""
    if now and now != before:
        subvolumes.mark(name, key, text_of(now))
    elif now != before:
        subvolumes.unmark(name, key)


def text_of(value: Any) -> str:
    """Return the text of a mark with a value: in hexadecimal digits, since the file that keeps it has characters of its own."""
    return json.dumps(value, sort_keys=True).encode().hex()


def noted_in(marks: Mapping[str, str], key: str) -> Any:
    """Return the value of a mark; None if there is no such mark."""
    return json.loads(bytes.fromhex(marks[key])) if marks.get(key) else None


def choose_filesystem(wanted: str | None, there: list[str]) -> str:
    """Return the file system that is meant.

    :raises errors.Final: there is none of the name, or several, of which the option names none.
    """
    if wanted is None and len(there) == 1:
        return there[0]
    if wanted in there:
        return str(wanted)
    known = f'the cluster has {", ".join(there)}' if there else 'the cluster has none'
    what = f'there is no file system {wanted}' if wanted else 'it must name one'
    raise errors.Final(f'cephfs_filesystem_name: {what}; {known}.')


def parts_of(path: str) -> tuple[str, ...] | None:
    """Return group, name and directory of a subvolume from its path, as ``/volumes/GROUP/NAME/DIRECTORY``, with or without
    the monitors before it; None if it is no such path. Old subvolumes have no further directory.
    """
    way = path if path.startswith('/') else path.partition(':/')[1][1:] + path.partition(':/')[2]
    first, *parts = way.removeprefix('/').split('/')
    if (
        first != 'volumes'
        or len(parts) not in (_PARTS - 1, _PARTS)
        or not all(SAFE_ID.fullmatch(part) for part in parts[1:])
    ):
        return None
    return tuple(parts)
