# SPDX-License-Identifier: Apache-2.0
"""The state of a dummy, and the parts that its abilities share: new records, rules and export locations."""

import base64
import dataclasses
import hashlib
import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from oslo_utils import netutils

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy import report
from manila_lite.drivers.dummy.knobs import Knobs
from manila_lite.drivers.dummy.store import Records, ShareRecord, Store

T = TypeVar('T', values.Share, values.Snapshot)

_LEVELS = ('rw', 'ro')


def _key(share_id: str, rule: values.AccessRule) -> str | None:
    """Return the access key of a Ceph client. It is not stored, so it is derived and always the same."""
    if rule.type != 'cephx':
        return None
    return base64.b64encode(hashlib.sha256(f'{share_id}/{rule.to}'.encode()).digest()[:28]).decode()


class DummyBase(interface.ShareDriver):
    """The base of each part of the driver: its options, its state on disk and its faults."""

    def __init__(self, backend: interface.Backend):
        super().__init__(backend)
        self.conf = backend.conf
        self.store = Store(backend.state_dir)
        self.knobs = Knobs(backend.state_dir, self.conf.dummy_knobs)
        self.HANDLES_SHARE_SERVERS = self.conf.driver_handles_share_servers
        self.ALLOCATIONS_PER_SUBNET = self.conf.dummy_allocations_per_subnet
        self.ADMIN_ALLOCATIONS = self.conf.dummy_admin_allocations
        self.PROTOCOLS = frozenset(proto.upper() for proto in self.conf.dummy_protocols)

    def _new(self, share: values.Share) -> ShareRecord:
        """Return a record for a new share.

        :raises errors.Final: the backend does not serve the protocol, has no such pool or server, or is full.
        """
        if share.pool not in self.conf.dummy_pools:
            raise errors.Final(f'This backend has no pool {share.pool}.')
        if share.proto.upper() not in self.PROTOCOLS:
            raise errors.Final(f'This backend does not serve {share.proto}.')
        self._need_room(share.pool, share.size)
        return ShareRecord(
            share.id,
            share.pool,
            share.size,
            share.proto.upper(),
            share.mount_point_name or share.id,
            server=self._server_of(share),
            qos=dict(share.qos),
            key=share.encryption_key_ref,
        )

    def _need_room(self, pool: str, more: int) -> None:
        """Check that the pool can promise ``more`` GiB.

        :raises errors.Final: it cannot.
        """
        free = report.promise(self.conf) - self.store.shares.allocated(pool)
        if more > max(free, 0):
            raise errors.Final(
                f'Pool {pool} has room for {max(free, 0):g} GiB, not for {more}.', detail='FILTER_CAPACITY'
            )

    def _enforce(
        self, record: ShareRecord, rules: Sequence[values.AccessRule], before: ShareRecord | None = None
    ) -> dict[str, values.RuleResult]:
        """Put the rules in force. The record is written only if it differs from ``before``."""
        results = {rule.id: values.RuleResult(self._objection(rule), _key(record.id, rule)) for rule in rules}
        record.exported = True
        record.rules = self._granted(rules)
        if record != before:
            self.store.shares.put(record)
        return results

    def _granted(self, rules: Sequence[values.AccessRule]) -> dict[str, list[str]]:
        """Return the rules that can be in force, as records have them."""
        return {rule.id: [rule.type, rule.to, rule.level] for rule in rules if not self._objection(rule)}

    def _objection(self, rule: values.AccessRule) -> str | None:
        """Return the reason why a rule cannot be in force, or None."""
        if rule.type not in self.conf.dummy_access_types:
            known = ', '.join(self.conf.dummy_access_types) or 'none'
            return f'This backend does not support access rules of type {rule.type}; it supports: {known}.'
        if rule.level not in _LEVELS:
            return f'There is no access level {rule.level}.'
        if rule.type == 'ip':
            try:
                ipaddress.ip_network(rule.to, strict=False)
            except ValueError:
                return f'{rule.to} is not an address.'
        return None

    def _bring(self, home: Store, share_id: str, **changes: Any) -> ShareRecord:
        """Copy the present state of a share from a store, with these changes, without exports and rules. Returns its record."""
        with home.locked():
            record = dataclasses.replace(home.share(share_id), exported=False, rules={}, **changes)
        with self.store.locked():
            self.store.shares.put(record)
        return record

    def _bring_snapshots(self, home: Store, snapshots: Iterable[values.Snapshot], **changes: Any) -> None:
        with home.locked():
            taken = [home.snapshot(snapshot.id) for snapshot in snapshots]
        with self.store.locked():
            for record in taken:
                self.store.snapshots.put(
                    dataclasses.replace(record, name='', exported=False, rules={}, **changes)
                )

    def _not_here(self, records: Records[Any], wanted: Iterable[T]) -> list[T]:
        """Return those of the wanted shares, or snapshots, that this store does not have."""
        with self.store.locked():
            return [one for one in wanted if records.get(one.id) is None]

    def _locations(self, share: values.Share, record: ShareRecord) -> list[values.ExportLocation]:
        if share.server and self.HANDLES_SHARE_SERVERS:
            return on_server(share.server, record)
        admin = self.conf.dummy_admin_export_ip
        return locations(record, self.conf.dummy_export_ips, [admin] if admin else [])

    def _server_of(self, share: values.Share) -> str | None:
        """Return the id of the running share server of the share, or None on a backend without share servers.

        :raises errors.Final: the share has no server, or it does not run.
        """
        if not self.HANDLES_SHARE_SERVERS:
            return None
        if share.server is None:
            raise errors.Final(f'Share {share.id} has no share server.')
        return self.store.server(share.server.id).id


def on_server(server: values.ShareServer, share: ShareRecord) -> list[values.ExportLocation]:
    """Return an export location for each address of the share's server."""
    addresses = [allocation.ip_address for allocation in server.allocations]
    users = len(addresses) - len(server.admin_allocations)
    return locations(share, addresses[:users], addresses[users:])


def locations(share: ShareRecord, users: Iterable[str], admins: Iterable[str]) -> list[values.ExportLocation]:
    """Return an export location for each of these addresses, of users and of administrators."""
    form = '\\\\{}\\{}' if share.proto == 'CIFS' else '{}:/shares/{}'
    found_locations = [(address, index == 0, False) for index, address in enumerate(users)]
    found_locations += [(address, False, True) for address in admins]
    return [
        values.ExportLocation(form.format(netutils.escape_ipv6(address), share.path), preferred, admin)
        for address, preferred, admin in found_locations
    ]
