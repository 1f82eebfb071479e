# SPDX-License-Identifier: Apache-2.0
"""How this host mounts a share as a client, by protocol: as whom the backend admits it, and with which program."""

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from manila_lite import errors, values
from manila_lite.host.commands import SECONDS, CommandFailed
from manila_lite.host_copy import ceph_client, copies, dos_attributes, exports, private_files, rsync

#: Seconds that a mount of which nothing is needed gets to end.
_END_SECONDS = 10.0
#: Seconds that a server has to answer when a mount is tried before a move.
_TRY_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Side:
    """One side of a move: the share, and the key with which this host opens it, if its protocol has keys. With ``snapshot`` its
    content is that of the snapshot, and ``locations`` are those of the snapshot, if it has any.
    """

    share: values.Share
    key: str | None = dataclasses.field(default=None, repr=False)
    snapshot: values.Snapshot | None = None
    locations: tuple[values.ExportLocation, ...] = ()

    @property
    def location(self) -> str:
        """The export location that is mounted.

        :raises errors.Final: there is none.
        """
        found = (
            dataclasses.replace(self.share, export_locations=self.locations) if self.locations else self.share
        )
        return exports.location_of(found)


@dataclasses.dataclass(frozen=True)
class Admitted:
    """Whom a backend has to admit: the type of access rule, and its value."""

    type: str
    to: str


class Client:
    """The client of one protocol. ``conf`` has the options of ``conf/data.py``; ``name`` tells this process from all others."""

    #: Programs and the packages that have them.
    PROGRAMS: Mapping[str, str] = {}
    #: Whether the content of a snapshot is within its share. Else it has an export location of its own.
    has_snapshots_inside = False
    #: The copies between two of its mounts.
    COPY: type[rsync.Copy] = rsync.Copy
    #: The attributes of files that its mounts do not show.
    UNSEEN: Sequence[str] = ()
    #: Whether a mount shows files as a directory of the file server does. Else both sides are mounted, or neither.
    shows_all = True

    def __init__(self, conf: Any, name: str):
        self._conf = conf
        self._name = name

    def admitted(self, share: values.Share) -> tuple[Admitted, ...]:
        """Return whom the backend of the share has to admit.

        :raises errors.Final: there is no way to the share.
        """
        raise NotImplementedError

    def mount(self, side: Side, location: str, path: Path, level: str) -> None:
        """Mount the share.

        :raises CommandFailed: it cannot be mounted.
        """
        raise NotImplementedError

    def content(self, side: Side, path: Path) -> Path:
        """Return the directory with the content of the side, which is mounted there.

        :raises CommandFailed: there is none.
        """
        return path

    def try_out(self, share: values.Share, location: str, path: Path) -> None:
        """Try to mount the share before it admits this host: all but its access rules is seen by that. Changes nothing there.

        :raises CommandFailed: it is not mounted; also because it does not admit this host yet.
        """

    def settle(self, path: Path, seconds: float) -> None:
        """Have all written data at the server; it may be unmounted then.

        :raises CommandFailed: it is not in time.
        """

    def unmount(self, path: Path) -> None:
        """Unmount, and remove everything that a mount left."""
        copies.unmount(path)

    def options(self, protocol: str, level: str, share: values.Share) -> str:
        """Return the options of mount(8). Those that are configured come last, so that they win. A snapshot is at the file
        server of its share.
        """
        more = self._conf.data_node_mount_options.get(protocol, '').removeprefix('-o ')
        return ','.join(word for word in (level, exports.options_of(share), more) if word)


class Nfs(Client):
    """The NFS client of the kernel."""

    PROGRAMS = {'mount': 'mount'}

    def admitted(self, share: values.Share) -> tuple[Admitted, ...]:
        location = exports.location_of(share)
        if self._conf.data_node_access_ips:
            return tuple(Admitted('ip', str(address)) for address in self._conf.data_node_access_ips)
        try:
            return (Admitted('ip', exports.address_towards(location)),)
        except OSError as bad:
            raise errors.Final(
                f'The host that copies has no route to {exports.server_of(location)} ({bad.strerror or bad}).'
            ) from None

    def mount(self, side: Side, location: str, path: Path, level: str) -> None:
        copies.Copies.mount(location, path, 'nfs', self.options('nfs', level, side.share))

    def try_out(self, share: values.Share, location: str, path: Path) -> None:
        copies.Copies.mount(
            location, path, 'nfs', self.options('nfs', 'ro,retry=0', share), seconds=_TRY_SECONDS
        )


class Ceph(Client):
    """A native client of CephFS, with an id of Ceph that only this process uses: once another process is admitted in its
    place, the cluster shuts it out, whatever it still holds.
    """

    PROGRAMS = {'ceph-fuse': 'ceph-fuse', 'ceph': 'ceph-common'}
    has_snapshots_inside = True

    def admitted(self, share: values.Share) -> tuple[Admitted, ...]:
        return (Admitted('cephx', f'move-{self._name}-{share.id}'),)

    def mount(self, side: Side, location: str, path: Path, level: str) -> None:
        if side.key is None:
            raise CommandFailed(f'{path}: the backend gave no key')
        [mine] = self.admitted(side.share)
        self.unmount(path)
        ceph_client.mount(location, path, level, mine.to, side.key)

    def content(self, side: Side, path: Path) -> Path:
        if side.snapshot is None:
            return path
        return ceph_client.snapshot(path, side.snapshot.provider_location or side.snapshot.id)

    def settle(self, path: Path, seconds: float) -> None:
        """Unmount with its program, whose end means that all is written."""
        ceph_client.unmount(path, seconds)

    def unmount(self, path: Path) -> None:
        """Unmount. Writes since ``settle`` may be lost."""
        with contextlib.suppress(CommandFailed):
            ceph_client.unmount(path, _END_SECONDS)
        private_files.forget(path)
        copies.unmount(path)


class Cifs(Client):
    """The CIFS client of the kernel. Its user is one whom the file servers of both sides know."""

    PROGRAMS = {'mount': 'mount', 'mount.cifs': 'cifs-utils', **dos_attributes.PROGRAMS}
    COPY = dos_attributes.CifsCopy
    UNSEEN = ('Windows ACLs', 'alternate data streams', 'times of creation')
    shows_all = False
    #: The options of mount.cifs that are in a file with the user's secrets, by the names that they have there.
    _SECRETS = {
        'username': 'username',
        'user': 'username',
        'password': 'password',
        'pass': 'password',
        'domain': 'domain',
        'dom': 'domain',
    }

    def admitted(self, share: values.Share) -> tuple[Admitted, ...]:
        user = self._conf.data_node_access_admin_user
        if not user:
            raise errors.Final(
                'The host that copies has no user for CIFS shares: set data_node_access_admin_user.'
            )
        return (Admitted('user', user),)

    def mount(self, side: Side, location: str, path: Path, level: str) -> None:
        self._mount(side.share, location, path, level)

    def try_out(self, share: values.Share, location: str, path: Path) -> None:
        self._mount(share, location, path, 'ro', _TRY_SECONDS)

    def _mount(
        self, share: values.Share, location: str, path: Path, level: str, seconds: float = SECONDS
    ) -> None:
        """Mount. Arguments can be read by every user of this host, so secrets are in a file meanwhile."""
        [mine] = self.admitted(share)
        secrets, plain = {'username': mine.to}, []
        for word in self.options('cifs', level, share).split(','):
            name, _, value = word.partition('=')
            if name in self._SECRETS:
                secrets[self._SECRETS[name]] = value
            else:
                plain.append(word)
        with private_files.written(
            path, credentials=''.join(f'{name}={value}\n' for name, value in secrets.items())
        ) as file:
            words = (
                plain
                if any(word.startswith('credentials=') for word in plain)
                else (*plain, f'credentials={file}')
            )
            copies.Copies.mount(location.replace('\\', '/'), path, 'cifs', ','.join(words), seconds=seconds)

    def unmount(self, path: Path) -> None:
        private_files.forget(path)
        copies.unmount(path)


#: The clients by protocol.
CLIENTS: Mapping[str, type[Client]] = {'NFS': Nfs, 'CIFS': Cifs, 'CEPHFS': Ceph}


def protocol_of(share: values.Share) -> str:
    """Return the protocol of a share that a host can mount.

    :raises errors.Final: no host can.
    """
    protocol = share.proto.upper()
    if protocol not in CLIENTS:
        raise errors.Final(
            f'A host can copy {", ".join(CLIENTS)} shares only, and this one is {share.proto}.'
        )
    return protocol
