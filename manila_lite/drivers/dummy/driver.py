# SPDX-License-Identifier: Apache-2.0
"""A driver without storage that keeps the whole contract, and breaks it where a test orders a fault."""

import dataclasses
import os
from collections.abc import Mapping, Sequence

from oslo_utils import units

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy import (
    backups,
    manage_shares,
    options,
    replication,
    report,
    share_migration,
    share_server_migration,
)
from manila_lite.drivers.dummy.knobs import Knob, knobbed
from manila_lite.drivers.dummy.store import SnapshotRecord


class DummyDriver(
    share_server_migration.DummyMigration,
    share_migration.DummyShareMigration,
    manage_shares.DummyShareManaging,
    replication.DummyReplication,
    backups.DummyBackups,
    interface.Resizes,
    interface.MeasuresUsage,
    interface.Snapshots,
    interface.Clones,
    interface.Reverts,
    interface.MountsSnapshots,
    interface.ConsistentSnapshots,
):
    """Shares that are files with a few words in them. See ``knobs.py`` for the faults, ``store.py`` for the state.

    The option driver_handles_share_servers decides whether shares are on share servers.
    """

    OPTIONS = options.OPTIONS
    CONSISTENT_ACROSS = 'host'
    PROTOCOLS = frozenset({'NFS', 'CIFS'})

    @classmethod
    def check(cls, backend: interface.Backend) -> Sequence[values.Problem]:
        problems = [
            values.Problem(f'{name} is empty', 'name at least one')
            for name in ('dummy_pools', 'dummy_protocols', 'dummy_export_ips')
            if not backend.conf[name]
        ]
        for text in backend.conf.dummy_knobs:
            try:
                Knob.parse(text)
            except ValueError as wrong:
                problems.append(values.Problem('dummy_knobs', str(wrong)))
        there = next(
            path for path in (backend.state_dir, *backend.state_dir.absolute().parents) if path.exists()
        )
        if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
            problems.append(
                values.Problem(
                    f'{there} is not a directory that can be written',
                    'give it to the user that runs the service',
                )
            )
        return problems

    @knobbed
    def setup(self) -> None:
        self.store.prepare()

    def shutdown(self) -> None:
        self.knobs.closing.set()

    @knobbed
    def report(self) -> Sequence[values.Pool]:
        with self.store.locked():
            shares = self.store.shares.known()
        return report.pools(self, shares)

    @knobbed
    def create_share(self, share: values.Share) -> Sequence[values.ExportLocation]:
        return self._create(share)

    @knobbed
    def create_share_from_snapshot(
        self, share: values.Share, snapshot: values.Snapshot
    ) -> Sequence[values.ExportLocation]:
        return self._create(share, snapshot)

    @knobbed
    def delete_share(self, share: values.Share) -> None:
        with self.store.locked():
            record = self.store.shares.get(share.id)
            if record and record.ours:
                self.store.shares.drop(share.id)

    @knobbed
    def update_access(
        self, share: values.Share, rules: Sequence[values.AccessRule]
    ) -> Mapping[str, values.RuleResult]:
        with self.store.locked():
            if not rules and self.store.held(share.id) is None:
                return {}
            record = self.store.share(share.id)
            if rules:
                self._server_of(share)
            return self._enforce(record, rules)

    @knobbed
    def ensure_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        with self.store.locked():
            return {target.share.id: self._ensure(target) for target in targets}

    @knobbed
    def inspect_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        with self.store.locked():
            return {target.share.id: self._ensure(target, inspect=True) for target in targets}

    def fingerprint(self) -> Mapping[str, str]:
        return {'addresses': ' '.join([*self.conf.dummy_export_ips, self.conf.dummy_admin_export_ip or ''])}

    @knobbed
    def extend_share(self, share: values.Share, new_size: int) -> None:
        with self.store.locked():
            record = self.store.share(share.id)
            self._need_room(record.pool, new_size - record.size)
            record.size = new_size
            self.store.shares.put(record)

    @knobbed
    def shrink_share(self, share: values.Share, new_size: int) -> None:
        with self.store.locked():
            record = self.store.share(share.id)
            if record.used > new_size:
                raise errors.RefusedShrink(f'Share {share.id} holds {record.used} GiB, more than {new_size}.')
            record.size = new_size
            self.store.shares.put(record)

    @knobbed
    def measure_usage(self, targets: Sequence[values.UsageTarget]) -> Mapping[str, values.ShareUsage]:
        with self.store.locked():
            shares = {record.id: record for record in self.store.shares.known() if record.ours}
            snapshots = {record.id: record.used for record in self.store.snapshots.known()}
        return {
            target.id: values.ShareUsage(
                used_bytes=int(shares[target.id].used * units.Gi),
                limit_bytes=shares[target.id].size * units.Gi,
                snapshot_bytes=int(sum(snapshots.get(key, 0) for key in target.snapshots) * units.Gi),
                files=int(bool(shares[target.id].content)),
            )
            for target in targets
            if target.id in shares
        }

    @knobbed
    def create_snapshot(self, snapshot: values.Snapshot) -> str | None:
        with self.store.locked():
            return self._take_all([snapshot])[snapshot.id]

    @knobbed
    def create_group_snapshot(self, snapshots: Sequence[values.Snapshot]) -> Mapping[str, str | None]:
        with self.store.locked():
            return self._take_all(snapshots)

    @knobbed
    def delete_snapshot(self, snapshot: values.Snapshot) -> None:
        with self.store.locked():
            record = self.store.snapshots.get(snapshot.id)
            if record and record.ours:
                self.store.snapshots.drop(snapshot.id)

    @knobbed
    def serve_snapshot(
        self, snapshot: values.Snapshot, rules: Sequence[values.AccessRule]
    ) -> values.ServedSnapshot:
        with self.store.locked():
            record = self.store.snapshot(snapshot.id)
            share = dataclasses.replace(self.store.share(snapshot.share.id), path=snapshot.id)
            self._server_of(snapshot.share)
            results = {rule.id: values.RuleResult(self._objection(rule)) for rule in rules}
            record.exported = True
            record.rules = {
                rule.id: [rule.type, rule.to, 'ro'] for rule in rules if not results[rule.id].error
            }
            self.store.snapshots.put(record)
        return values.ServedSnapshot(tuple(self._locations(snapshot.share, share)), results)

    @knobbed
    def revert_to_snapshot(self, snapshot: values.Snapshot) -> None:
        with self.store.locked():
            past = self.store.snapshot(snapshot.id)
            record = self.store.share(snapshot.share.id)
            record.content, record.used, record.size = past.content, past.used, snapshot.share.size
            self.store.shares.put(record)

    def write(self, share_id: str, content: str, used: float | None = None) -> None:
        """Store ``content`` in the share, as a client would; with ``used``, also set how many GiB the share seems to
        hold.
        """
        with self.store.locked():
            record = self.store.share(share_id)
            record.content = content
            record.used = record.used if used is None else used
            self.store.shares.put(record)

    def read(self, share_id: str) -> str:
        return self.store.share(share_id).content

    def _take_all(self, snapshots: Sequence[values.Snapshot]) -> dict[str, str | None]:
        sources = {snapshot.id: self.store.share(snapshot.share.id) for snapshot in snapshots}
        if not all(self.store.snapshots.get(snapshot_id) for snapshot_id in sources):
            for snapshot_id, source in sources.items():
                self.store.snapshots.put(
                    SnapshotRecord(snapshot_id, source.id, source.size, source.content, source.used)
                )
        return {snapshot_id: f'/snapshots/{snapshot_id}' for snapshot_id in sources}

    def _create(
        self, share: values.Share, snapshot: values.Snapshot | None = None
    ) -> list[values.ExportLocation]:
        with self.store.locked():
            record = self.store.shares.get(share.id)
            if record is None:
                record = self._new(share)
                if snapshot:
                    past = self.store.snapshot(snapshot.id)
                    record.content, record.used = past.content, past.used
                self.store.shares.put(record)
        return self._locations(share, record)

    def _ensure(self, target: values.EnsureTarget, *, inspect: bool = False) -> values.EnsureResult:
        record = self.store.held(target.share.id)
        if record is None:
            return values.EnsureResult(error='The data of the share is missing.')
        repaired = () if record.exported else ('It was not exported.',)
        if inspect:
            return values.EnsureResult(repaired=repaired)
        before = dataclasses.replace(record)
        try:
            record.server, record.qos = self._server_of(target.share), dict(target.share.qos)
        except errors.Final as bad:
            return values.EnsureResult(error=str(bad))
        agrees = record.exported and record.rules == self._granted(target.rules)
        results = self._enforce(record, target.rules if agrees else target.rules_now(), before)
        return values.EnsureResult(tuple(self._locations(target.share, record)), results, repaired=repaired)
