# SPDX-License-Identifier: Apache-2.0
"""Share servers of the dummy: a file for each, with its addresses."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from manila_lite import errors, values
from manila_lite.drivers import interface, networks
from manila_lite.drivers.dummy.base import DummyBase, on_server
from manila_lite.drivers.dummy.knobs import knobbed
from manila_lite.drivers.dummy.store import ServerRecord


class DummyServers(
    DummyBase,
    interface.SpansSubnets,
    interface.AddsSubnets,
    interface.TakesSubnetMetadata,
    interface.UpdatesSecurityServices,
    interface.ManagesServers,
):
    """The part of the driver for share servers."""

    def held_servers(self) -> Collection[str]:
        with self.store.locked():
            return [record.id for record in self.store.servers.all() if record.ours]

    @knobbed
    def setup_server(self, server: values.ShareServer) -> Mapping[str, str]:
        return self._set_up(server)

    @knobbed
    def teardown_server(self, server: values.ShareServer) -> None:
        with self.store.locked():
            if left := [share.id for share in self.store.shares.all() if share.server == server.id]:
                raise errors.Final(f'Share server {server.id} still exports {", ".join(sorted(left))}.')
            self.store.servers.drop(server.id)

    @knobbed
    def ensure_servers(self, servers: Sequence[values.ShareServer]) -> Mapping[str, values.ServerResult]:
        return {server.id: self._ensure_server(server) for server in servers}

    @knobbed
    def check_update_share_server_network_allocations(
        self,
        server: values.ShareServer,
        new: values.ServerNetwork,
        targets: Sequence[values.EnsureTarget],
        snapshots: Sequence[values.Snapshot],
    ) -> None:
        self.store.server(server.id)
        networks.vet_new(server, new)

    @knobbed
    def update_share_server_network_allocations(
        self,
        server: values.ShareServer,
        new: values.ServerNetwork,
        shares: Sequence[values.Share],
        snapshots: Sequence[values.Snapshot],
    ) -> values.ServerUpdate:
        self.store.server(server.id)
        joined = server.joined(new)
        details = self._set_up(joined)
        records = {share.id: self.store.shares.get(share.id) for share in shares}
        return values.ServerUpdate(
            details,
            {share_id: tuple(on_server(joined, record)) for share_id, record in records.items() if record},
            self._mounted(joined, snapshots),
            pools={
                share.id: record.pool
                for share in shares
                if (record := records[share.id]) and record.pool != share.pool
            },
            lost={
                share_id: 'The data of the share is missing.'
                for share_id, record in records.items()
                if record is None
            },
        )

    def _mounted(
        self, server: values.ShareServer, snapshots: Sequence[values.Snapshot]
    ) -> dict[str, tuple[values.ExportLocation, ...]]:
        """Return the export locations of the snapshots that are exported, by snapshot id."""
        exported = {}
        for snapshot in snapshots:
            record, share = self.store.snapshots.get(snapshot.id), self.store.shares.get(snapshot.share.id)
            if record and share and record.exported:
                exported[snapshot.id] = tuple(on_server(server, dataclasses.replace(share, path=snapshot.id)))
        return exported

    @knobbed
    def update_share_network_subnet_from_metadata(
        self, server: values.ShareServer, network: values.ServerNetwork, metadata: Mapping[str, str]
    ) -> None:
        with self.store.locked():
            record = self.store.server(server.id)
            if network.subnet_id not in record.addresses:
                raise errors.Final(f'Share server {server.id} has no address in subnet {network.subnet_id}.')
            record.metadata[network.subnet_id] = dict(metadata)
            self.store.servers.put(record)

    @knobbed
    def check_update_share_server_security_service(
        self,
        server: values.ShareServer,
        new: values.SecurityService,
        current: values.SecurityService | None,
        targets: Sequence[values.EnsureTarget],
    ) -> None:
        with self.store.locked():
            self._must_fit(server, new, current)

    @knobbed
    def update_share_server_security_service(
        self,
        server: values.ShareServer,
        new: values.SecurityService,
        current: values.SecurityService | None,
        targets: Sequence[values.EnsureTarget],
    ) -> values.ServerUpdate:
        with self.store.locked():
            record = self._must_fit(server, new, current)
            record.services[new.type] = new.id
            self.store.servers.put(record)
        return values.ServerUpdate(
            lost={
                target.share.id: 'The data of the share is missing.'
                for target in targets
                if self.store.shares.get(target.share.id) is None
            }
        )

    def _must_fit(
        self, server: values.ShareServer, new: values.SecurityService, current: values.SecurityService | None
    ) -> ServerRecord:
        """Return the server's record, if ``new`` may take the place of ``current``.

        :raises errors.Final: the server uses a security service of that type which is neither ``new`` nor ``current``.
        """
        record = self.store.server(server.id)
        used = record.services.get(new.type)
        if used not in (None, new.id, current.id if current else None):
            raise errors.Final(
                f'Share server {server.id} knows its users by the {new.type} security service {used}.'
            )
        return record

    def _set_up(self, server: values.ShareServer) -> dict[str, str]:
        networks.vet(server)
        with self.store.locked():
            known = self.store.servers.get(server.id)
            record = ServerRecord(server.id, addresses_of(server), name=known.name if known else '')
            record.services = {service.type: service.id for service in server.security_services}
            record.metadata = {
                subnet: pairs
                for subnet, pairs in (known.metadata if known else {}).items()
                if subnet in record.addresses
            }
            self.store.servers.put(record)
        return details_of(server)

    def _ensure_server(self, server: values.ShareServer) -> values.ServerResult:
        try:
            return values.ServerResult(self._set_up(server))
        except errors.Final as bad:
            return values.ServerResult(error=str(bad))

    # Managing ---------------------------------------------------------------------------------

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


def details_of(server: values.ShareServer) -> dict[str, str]:
    return {
        'server_name': f'dummy-{server.id}',
        'subnets': ','.join(network.subnet_id for network in server.networks),
    }


def addresses_of(server: values.ShareServer) -> dict[str, list[str]]:
    """Return the server's addresses by subnet, those in the network of administrators under ''."""
    addresses: dict[str, list[str]] = {}
    for network in server.networks:
        addresses[network.subnet_id] = [allocation.ip_address for allocation in network.allocations]
    if server.admin_allocations:
        addresses[''] = [allocation.ip_address for allocation in server.admin_allocations]
    return addresses
