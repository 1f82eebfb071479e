# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of the dummy's share servers."""

import dataclasses
from collections.abc import Mapping, Sequence

from manila_lite import errors, values
from manila_lite.drivers import interface, networks
from manila_lite.drivers.dummy.knobs import knobbed
from manila_lite.drivers.dummy.servers import DummyServers, addresses_of, details_of
from manila_lite.drivers.dummy.store import ServerRecord


class DummyManaging(DummyServers, interface.ManagesServers):
    """The part of the driver that manages and unmanages share servers."""

    @knobbed
    def find_server(
        self, server: values.ShareServer, identifier: str, options: Mapping[str, str]
    ) -> Sequence[str]:
        with self.store.locked():
            record = self._manageable(server, identifier)
        return [address for addresses in record.addresses.values() for address in addresses]

    @knobbed
    def manage_server(
        self, server: values.ShareServer, identifier: str, options: Mapping[str, str]
    ) -> Mapping[str, str]:
        networks.vet(server)
        with self.store.locked():
            record = self._manageable(server, identifier)
            self.store.servers.put(
                dataclasses.replace(
                    record, id=server.id, name=identifier, ours=True, addresses=addresses_of(server)
                )
            )
            for other in self._named(identifier):
                if other.id != server.id:  # the old record; also in the repetition of a call that died
                    self.store.servers.drop(other.id)
        return details_of(server)

    @knobbed
    def unmanage_server(self, server: values.ShareServer) -> None:
        with self.store.locked():
            record = self.store.servers.get(server.id)
            if record is None or not record.ours:
                return
            if left := sorted(share.id for share in self.store.shares.all() if share.server == server.id):
                raise errors.Final(f'Share server {server.id} still exports {", ".join(left)}.')
            record.ours = False
            self.store.servers.put(record)

    def _named(self, identifier: str) -> list[ServerRecord]:
        return [record for record in self.store.servers.all() if (record.name or record.id) == identifier]

    def _manageable(self, server: values.ShareServer, identifier: str) -> ServerRecord:
        records = self._named(identifier)
        if not records:
            raise errors.Final(f'This backend has no share server {identifier}.')
        if any(record.ours and record.id != server.id for record in records):
            raise errors.Final(f'Share server {identifier} of this backend is managed already.')
        return records[0]
