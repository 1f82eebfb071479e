# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of the dummy's shares and snapshots."""

import dataclasses
from collections.abc import Mapping

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy.base import DummyBase
from manila_lite.drivers.dummy.knobs import knobbed
from manila_lite.drivers.dummy.store import ShareRecord, SnapshotRecord


class DummyShareManaging(DummyBase, interface.ManagesSnapshots):
    """The part of the driver that manages and unmanages shares and snapshots. There are no driver options.

    A share is found by the last part of its export path, which it keeps. A snapshot is found by the last part of its
    provider location.
    """

    @knobbed
    def manage_share(
        self, share: values.Share, export_path: str, options: Mapping[str, str]
    ) -> values.ManagedShare:
        with self.store.locked():
            record = self.store.shares.get(share.id)
            if record is None or not record.ours:
                record = self._take_over(share, export_path)
            self._drop_namesakes(record)
        return values.ManagedShare(record.size, tuple(self._locations(share, record)))

    def _take_over(self, share: values.Share, export_path: str) -> ShareRecord:
        records = self._called(_last(export_path))
        if not records:
            raise errors.Final(f'This backend has no share at {export_path}.')
        if any(record.ours for record in records):
            raise errors.Final(f'The share at {export_path} of this backend is managed already.')
        past = records[0]
        if (past.pool, past.proto) != (share.pool, share.proto.upper()):
            raise errors.Final(f'The share at {export_path} is a {past.proto} share in pool {past.pool}.')
        record = dataclasses.replace(
            past,
            id=share.id,
            ours=True,
            exported=True,
            rules={},
            server=self._server_of(share),
            path=share.mount_point_name or past.path,
            was=past.path,
        )
        self.store.shares.put(record)
        return record

    def _drop_namesakes(self, record: ShareRecord) -> None:
        """Drop the record that the share had before it was managed, also if an earlier call died just before this."""
        for other in self._called(record.was):
            if other.id != record.id and not other.ours:
                self.store.shares.drop(other.id)

    @knobbed
    def unmanage_share(self, share: values.Share) -> None:
        with self.store.locked():
            record = self.store.shares.get(share.id)
            if record is None or not record.ours:
                return
            asked = _last(share.export_locations[0].path) if share.export_locations else record.path
            if asked == record.was:  # no client has seen its new path
                record.path = asked
            record.ours, record.exported, record.rules, record.server = False, False, {}, None
            self.store.shares.put(record)

    @knobbed
    def manage_snapshot(
        self, snapshot: values.Snapshot, options: Mapping[str, str]
    ) -> values.ManagedSnapshot:
        with self.store.locked():
            record = self.store.snapshots.get(snapshot.id)
            if record is None or not record.ours:
                record = self._take_over_snapshot(snapshot)
            for other in self._snapshots_called(record.name):
                if other.id != record.id and not other.ours:
                    self.store.snapshots.drop(other.id)
        return values.ManagedSnapshot(record.size, f'/snapshots/{record.name}')

    def _take_over_snapshot(self, snapshot: values.Snapshot) -> SnapshotRecord:
        share, location = self.store.share(snapshot.share.id), snapshot.provider_location or ''
        records = self._snapshots_called(_last(location))
        if not records:
            raise errors.Final(f'This backend has no snapshot at {location}.')
        if any(record.ours for record in records):
            raise errors.Final(f'The snapshot at {location} of this backend is managed already.')
        # A share that was unmanaged and managed again has another id than its snapshots have stored.
        if records[0].share_id != share.id and records[0].path != share.was:
            raise errors.Final(f'The snapshot at {location} is of another share.')
        record = dataclasses.replace(
            records[0], id=snapshot.id, share_id=share.id, name=_last(location), ours=True
        )
        self.store.snapshots.put(record)
        return record

    @knobbed
    def unmanage_snapshot(self, snapshot: values.Snapshot) -> None:
        with self.store.locked():
            record = self.store.snapshots.get(snapshot.id)
            if record is not None and record.ours:
                share = self.store.shares.get(record.share_id)
                self.store.snapshots.put(
                    dataclasses.replace(
                        record, ours=False, path=share.path if share else '', exported=False, rules={}
                    )
                )

    def _called(self, name: str) -> list[ShareRecord]:
        return [record for record in self.store.shares.all() if record.path == name]

    def _snapshots_called(self, name: str) -> list[SnapshotRecord]:
        return [record for record in self.store.snapshots.all() if (record.name or record.id) == name]


def _last(path: str) -> str:
    """Return the last part of an export path of any protocol."""
    return path.replace('\\', '/').rstrip('/').rpartition('/')[2]
