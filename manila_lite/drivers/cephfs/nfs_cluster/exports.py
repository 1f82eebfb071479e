# SPDX-License-Identifier: Apache-2.0
"""The exports of an existing NFS cluster: Ceph's manager keeps them, and its module ``nfs`` changes them on command.

The module makes a CephX id for each export, confined to its directory, and writes the export to a pool that only the gateways
read. It tells them that something has changed, and does not wait until they have read it.
"""

import dataclasses
import errno
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster.answers import tolerated
from manila_lite.drivers.cephfs.cluster.cluster import Cluster

#: Clients of an export: addresses, and ``rw`` or ``ro`` for all of them. The first that matches a client counts.
Client = tuple[tuple[str, ...], str]

#: The module of some releases cuts the list of all exports off behind these bytes when it removes one.
_LIST_BYTES = 8192
#: The line of an export in that list, with the longest name of the pool, and the largest number.
_LINE = '%url "rados://nfs-ganesha/{}/export-65535"\n\n'
#: Exports that come and go while others change.
_SPARE = 8
#: Largest number of an export. The module would give the number of a deleted export to the next one; file handles name it.
_NUMBERS = 65535
_COMMON: Mapping[str, Any] = {
    'access_type': 'none',
    'squash': 'none',
    'security_label': False,
    'protocols': [4],
    'transports': ['TCP'],
    'sectype': ['sys'],
}


@dataclasses.dataclass(frozen=True)
class ClusterExport:
    """An export as the module tells it. ``user`` is the CephX id by which the gateways reach its directory."""

    number: int
    user: str
    pseudo: str
    path: str
    filesystem: str
    clients: tuple[Client, ...]
    is_common: bool

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> 'ClusterExport':
        """Return the export that the module describes."""
        clients = tuple(
            (tuple(map(str, client['addresses'])), str(client['access_type']).lower())
            for client in told.get('clients') or ()
        )
        return cls(
            int(told['export_id']),
            str(told['fsal'].get('user_id', '')),
            str(told['pseudo']),
            str(told['path']),
            str(told['fsal'].get('fs_name', '')),
            clients,
            _is_common(told),
        )

    def leads_to(self, filesystem: str, path: str) -> bool:
        """Say whether it exports this directory."""
        return (self.filesystem, self.path) == (filesystem, path)


class Exports:
    """The exports of the NFS cluster ``name``, of directories of one file system. Safe for threads."""

    def __init__(self, cluster: Cluster, name: str, filesystem: str):
        self._cluster = cluster
        self.name = name
        self.filesystem = filesystem

    def find(self, pseudo: str) -> ClusterExport | None:
        """Return the export that clients mount by this path."""
        told = None
        with tolerated(errno.ENOENT):
            told = self._ask('info', pseudo_path=pseudo)
        return ClusterExport.of(told) if told else None

    def vet_room(self) -> None:
        """Check that the cluster can have one more export.

        :raises errors.Final: it cannot.
        """
        most = _LIST_BYTES // len(_LINE.format(self.name)) - _SPARE
        if len(self._all()) >= most:
            raise errors.Final(
                f'The NFS cluster {self.name} cannot have more than {most} exports: with more, some releases of '
                'Ceph lose exports when one is removed. Delete shares, or add a backend with another NFS '
                'cluster.'
            )

    def create(self, pseudo: str, path: str, clients: Sequence[Client]) -> ClusterExport:
        """Export the directory, which is not exported by this path yet, to these clients.

        :raises errors.Final: its id would reach other exports, too.
        """
        there = self._all()
        taken = {told['export_id'] for told in there}
        # At random: two share managers shall not choose the same.
        number = secrets.choice([number for number in range(1, _NUMBERS) if number not in taken])
        self._apply(pseudo, path, clients, export_id=number)
        made = self.find(pseudo)
        if made is None:
            raise errors.Final(f'The NFS cluster {self.name} has lost the export {pseudo}.')
        if made.user in {told['fsal'].get('user_id') for told in there}:
            self.remove(pseudo)
            raise errors.Final(
                f'The NFS cluster {self.name} gives several exports one CephX id, {made.user}, so a client of '
                'one share could reach others. Use a release of Ceph that gives each export its own.'
            )
        return made

    def change(self, known: ClusterExport, clients: Sequence[Client]) -> None:
        """Admit exactly these clients to the export."""
        self._apply(known.pseudo, known.path, clients, {'user_id': known.user}, export_id=known.number)

    def remove(self, pseudo: str) -> None:
        """Remove the export and its CephX id, if it is there."""
        with tolerated(errno.ENOENT):
            self._ask('rm', pseudo_path=pseudo)

    def _all(self) -> Sequence[Mapping[str, Any]]:
        """Return all exports of the cluster as the module tells them, whosever they are."""
        return self._ask('ls', detailed=True) or ()

    def _apply(
        self,
        pseudo: str,
        path: str,
        clients: Sequence[Client],
        user: Mapping[str, str] | None = None,
        **more: int,
    ) -> None:
        # Releases that let exports share a mount, and with it an id, are told by the path of the mount not to.
        fsal = {'name': 'CEPH', 'fs_name': self.filesystem, 'cmount_path': path, **(user or {})}
        entries = [
            {'addresses': addresses, 'access_type': level, 'squash': 'none'} for addresses, level in clients
        ]
        self._ask(
            'apply',
            json.dumps(
                {
                    **_COMMON,
                    'cluster_id': self.name,
                    'pseudo': pseudo,
                    'path': path,
                    'fsal': fsal,
                    'clients': entries,
                    **more,
                }
            ).encode(),
        )

    def _ask(self, verb: str, file: bytes = b'', /, **arguments: Any) -> Any:
        return self._cluster.manager(f'nfs export {verb}', file, cluster_id=self.name, **arguments)


def _is_common(told: Mapping[str, Any]) -> bool:
    """Say whether the settings are those that every export has. The module tells one value of a list as a list or alone."""
    return all(_plain(told.get(name, wanted)) == _plain(wanted) for name, wanted in _COMMON.items())


def _plain(value: Any) -> str:
    return ','.join(sorted(map(str, value))).lower() if isinstance(value, list) else str(value).lower()
