# SPDX-License-Identifier: Apache-2.0
"""Share servers that this backend made and let go of, and takes over again: by this database or another one.

Such a server keeps its folder, and in it a note of what it is called and which addresses it has. A reboot takes its
namespace and its NFS server away, and nobody brings them back before it is taken over.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from manila_lite import errors, kinds
from manila_lite.drivers.interface import ManagesServers
from manila_lite.drivers.linux import notes
from manila_lite.drivers.linux.servers import Servers


class LinuxManaging(ManagesServers):
    """The part of the driver that takes over servers, and lets go of them. There are no options."""

    _servers: Servers

    def find_server(self, server: kinds.ShareServer, identifier: str, options: Mapping[str, str]) -> Sequence[str]:
        """The addresses are in the server's note."""
        if notes.name(self._servers.folder(server.id)) == identifier:
            return [allocation.ip_address for allocation in server.allocations]
        return list(notes.of(self._takeable(identifier))['addresses'])

    def manage_server(self, server: kinds.ShareServer, identifier: str, options: Mapping[str, str]) -> Mapping[str, str]:
        """The server has the folder, the namespace and the NFS server of its new id; those of the old one are gone."""
        home = self._servers.folder(server.id)
        if notes.name(home) != identifier:
            self._servers.move(self._takeable(identifier).name, server.id)
            notes.rename(home, identifier)
        notes.drop(home)
        return self.setup_server(server)

    def unmanage_server(self, server: kinds.ShareServer) -> None:
        """The server's folder has a note; everything runs on."""
        home = self._servers.folder(server.id)
        if home.exists() and not notes.of(home):
            self._servers.leave(server.id)
            notes.leave(home, notes.name(home) or server.id, [allocation.ip_address for allocation in server.allocations])

    def _takeable(self, identifier: str) -> Path:
        """Return the folder of a server that is not ours.

        :raises errors.Final: there is none of that identifier, or it is ours.
        """
        for home in self._servers.folders():
            note = notes.of(home)
            if note and note.get('identifier') == identifier:
                return home
            if not note and identifier in (home.name, notes.name(home)):
                raise errors.Final(f'Share server {identifier} of this backend is managed already.')
        raise errors.Final(f'This backend has no share server {identifier}: it takes over only those that were unmanaged.')
