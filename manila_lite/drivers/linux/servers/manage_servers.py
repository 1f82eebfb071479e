# SPDX-License-Identifier: Apache-2.0
"""Managing of share servers that this backend made and unmanaged, by the same database or another one.

An unmanaged server keeps its folder, with a note of its identifier and its addresses. A reboot removes its namespace
and its file servers; they come back only when the server is managed again.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.linux.servers import notes
from manila_lite.drivers.linux.servers.server_setup import ServerSetup
from manila_lite.drivers.linux.servers.share_servers import ShareServers


class ManagedServers:
    """The managing and unmanaging of one backend's share servers. There are no driver options."""

    def __init__(self, servers: ShareServers, setup: ServerSetup):
        self._servers = servers
        self._setup = setup

    def addresses(self, server: values.ShareServer, identifier: str, *_: object) -> Sequence[str]:
        """Return the addresses from the server's note."""
        if notes.name(self._servers.folder(server.id)) == identifier:
            return [allocation.ip_address for allocation in server.allocations]
        return list(notes.of(self._manageable(identifier))['addresses'])

    def manage(self, server: values.ShareServer, identifier: str, *_: object) -> Mapping[str, str]:
        """Move the server's folder to its new id, and make its namespace and NFS server anew; those of the old id are
        removed. Returns details to store.
        """
        home = self._servers.folder(server.id)
        if notes.name(home) != identifier:
            self._servers.move(self._manageable(identifier).name, server.id)
            notes.rename(home, identifier)
        notes.drop(home)
        return self._setup.set_up(server)

    def unmanage(self, server: values.ShareServer) -> None:
        """Write a note into the server's folder; its file servers run on."""
        home = self._servers.folder(server.id)
        if home.exists() and not notes.of(home):
            self._servers.detach(server.id)
            notes.leave(
                home,
                notes.name(home) or server.id,
                [allocation.ip_address for allocation in server.allocations],
            )

    def _manageable(self, identifier: str) -> Path:
        """Return the folder of an unmanaged server.

        :raises errors.Final: no server has that identifier, or it is managed.
        """
        for home in self._servers.folders():
            note = notes.of(home)
            if note and note.get('identifier') == identifier:
                return home
            if not note and identifier in (home.name, notes.name(home)):
                raise errors.Final(f'Share server {identifier} of this backend is managed already.')
        raise errors.Final(f'This backend has no share server {identifier} that was unmanaged.')
