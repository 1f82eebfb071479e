# SPDX-License-Identifier: Apache-2.0
"""Replication between dummies on the same host: each update copies all data of the active replica."""

import dataclasses
from collections.abc import Sequence

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy.base import DummyBase
from manila_lite.drivers.dummy.knobs import knobbed
from manila_lite.drivers.dummy.store import ShareRecord, SnapshotRecord, Store

_IN_SYNC, _OUT_OF_SYNC = 'in_sync', 'out_of_sync'


class DummyReplication(DummyBase, interface.Replicates):
    """The replication part of the driver. A file ``away`` in the state directory of a backend makes it unreachable."""

    REPLICATION_TYPES = frozenset({'readable', 'dr'})

    @knobbed
    def create_replica(self, replica: values.Replica) -> values.ReplicaResult:
        self._must_be_possible(replica)
        with self.store.locked():
            if self.store.shares.get(replica.id) is None:
                self.store.shares.put(
                    dataclasses.replace(self._new(replica.share), role='replica', exported=False)
                )
        return self._followed(replica)

    def _must_be_possible(self, replica: values.Replica) -> None:
        if replica.type not in self.REPLICATION_TYPES:
            raise errors.Final(f'This backend does not support replication type {replica.type}.')
        if replica.active_host == self.backend.host:
            raise errors.Final('A replica must be on another backend than the active one.')

    @knobbed
    def update_replica(self, replica: values.Replica) -> values.ReplicaResult:
        with self.store.locked():
            record = self.store.share(replica.id)
            if record.role != 'replica':
                self.store.shares.put(dataclasses.replace(record, role='replica', exported=False, rules={}))
        return self._followed(replica)

    def _followed(self, replica: values.Replica) -> values.ReplicaResult:
        reached = self._pull(replica)
        return self._result(replica, self._offer(replica), _IN_SYNC if reached else _OUT_OF_SYNC)

    @knobbed
    def promote_replica(self, replica: values.Replica) -> values.ReplicaResult:
        with self.store.locked():
            done = self.store.share(replica.id).role != 'replica'
        if not done:
            self._fence(replica)
            self._pull(replica)
        with self.store.locked():
            record = dataclasses.replace(self.store.share(replica.id), role='')
            self._enforce(record, replica.rules)
        return self._result(replica, record, 'active')

    @knobbed
    def delete_replica(self, replica: values.Replica) -> None:
        with self.store.locked():
            for snapshot in self._snapshots_of(replica.id):
                self.store.snapshots.drop(snapshot.id)
            self.store.shares.drop(replica.id)

    def _home(self, replica: values.Replica) -> Store | None:
        """Return the store of the active replica, or None if its backend cannot be reached."""
        home = self.store.neighbour(replica.active_host)
        return home if home.shares.folder.is_dir() and not (home.root / 'away').exists() else None

    def _fence(self, replica: values.Replica) -> None:
        """Stop the export of the active replica, if its backend can be reached."""
        home = self._home(replica)
        if home is None:
            return
        with home.locked():
            record = home.held(replica.active.id)
            if record is not None:
                home.shares.put(dataclasses.replace(record, exported=False, rules={}))

    def _pull(self, replica: values.Replica) -> bool:
        """Copy the data of the active replica. Returns whether its backend was reached and had all snapshots."""
        home = self._home(replica)
        if home is None:
            return False
        with home.locked():
            active = home.held(replica.active.id)
            taken = [home.snapshots.get(snapshot.id) for snapshot in replica.snapshots]
        if active is None or None in taken:
            return False
        with self.store.locked():
            record = self.store.share(replica.id)
            self._need_room(record.pool, active.size - record.size)
            self.store.shares.put(
                dataclasses.replace(record, content=active.content, used=active.used, size=active.size)
            )
            self._keep_only(replica.id, [snapshot for snapshot in taken if snapshot is not None])
        return True

    def _keep_only(self, share_id: str, taken: Sequence[SnapshotRecord]) -> None:
        wanted = {snapshot.id for snapshot in taken}
        for snapshot in self._snapshots_of(share_id):
            if snapshot.id not in wanted:
                self.store.snapshots.drop(snapshot.id)
        for snapshot in taken:
            self.store.snapshots.put(
                dataclasses.replace(snapshot, share_id=share_id, name='', exported=False, rules={})
            )

    def _snapshots_of(self, share_id: str) -> list[SnapshotRecord]:
        return [snapshot for snapshot in self.store.snapshots.all() if snapshot.share_id == share_id]

    def _offer(self, replica: values.Replica) -> ShareRecord:
        """Export the replica read-only if clients may mount it, else stop its export. Returns its record."""
        with self.store.locked():
            record = self.store.share(replica.id)
            if replica.is_mounted:
                self._server_of(replica.share)
                self._enforce(record, [dataclasses.replace(rule, level='ro') for rule in replica.rules])
            elif record.exported:
                record.exported, record.rules = False, {}
                self.store.shares.put(record)
        return record

    def _result(self, replica: values.Replica, record: ShareRecord, state: str) -> values.ReplicaResult:
        with self.store.locked():
            held = {snapshot.id: f'/snapshots/{snapshot.id}' for snapshot in self._snapshots_of(replica.id)}
        found_locations = tuple(self._locations(replica.share, record)) if record.exported else ()
        return values.ReplicaResult(state, found_locations, held)
