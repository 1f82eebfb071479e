# SPDX-License-Identifier: Apache-2.0
"""Replicas of shares of other linux backends.

The data comes as in a migration (``replication.py``), in rounds of new data; the latest round is the replica.

While the folder of the copy exists the share here is a replica. A promotion freezes the active replica in its pool, so
that no write is acknowledged any more, brings the last round, and deletes the folder. Only then clients may write here: a
promotion that is repeated would bring the last round over their writes.
"""

from collections.abc import Sequence
from pathlib import Path

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.replication import migrations, peer_session, transfer_folder
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.shares import Shares
from manila_lite.drivers.linux.shares.snapshots import provider_location
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.drivers.recent_sizes import RecentSizes
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

TYPES = frozenset({'readable', 'dr'})
_IN_SYNC, _OUT_OF_SYNC = 'in_sync', 'out_of_sync'


class ShareReplicas:
    """The replicas on one backend. ``host``: the backend, as ``host@backend``."""

    def __init__(
        self,
        host: str,
        conf: LinuxOptions,
        *,
        storage: Storage,
        exports: ShareExports,
        access: ShareAccess,
        shares: Shares,
        sizes: RecentSizes,
    ):
        self._host = host
        self._conf = conf
        self._storage = storage
        self._exports = exports
        self._access = access
        self._shares = shares
        self._sizes = sizes

    # Calls ------------------------------------------------------------------------------------

    def create(self, replica: values.Replica) -> values.ReplicaResult:
        """Create an empty share, which the first update fills."""
        if replica.type not in TYPES or replica.active_host == self._host:
            raise errors.Final(
                'A replica must be readable or dr, and on another backend than the active one.'
            )
        self._exports.vet(replica.share)
        copy = self._copy(replica)
        with self._storage.exclusive(replica.id):
            self._storage.btrfs.create(replica.id, replica.share.size)
            copy.begin()
        return self._serve(replica, _OUT_OF_SYNC)

    def update(self, replica: values.Replica) -> values.ReplicaResult:
        """Bring a round of the copy, and offer it to clients."""
        self._storage.require(replica.share)
        copy = self._copy(replica)
        if not copy.begun:
            self._demote(replica, copy)
        elif not replica.is_mounted:
            self._withdraw(replica)
        reached = self._receive(replica, copy)
        return self._serve(replica, _IN_SYNC if reached else _OUT_OF_SYNC)

    def promote(self, replica: values.Replica) -> values.ReplicaResult:
        """Freeze the active replica, and bring its last data. If it cannot be reached, promote the data that is here."""
        self._storage.require(replica.share)
        copy, pool = self._copy(replica), self._storage.btrfs
        if copy.begun:
            self._receive(replica, copy, freeze=True)
            received = transfer_folder.Received(pool.root, replica.id)
            for snapshot_id in sorted(received.whole() & {snapshot.id for snapshot in replica.snapshots}):
                pool.keep_snapshot(snapshot_id, received.at(snapshot_id))
            copy.clear_here()
        btrfs.sync(pool.root)  # also the end of the folder
        self._access.update(replica.share, replica.rules)
        migrations.tidy_source(copy)
        kept = {
            snapshot.id: provider_location(snapshot.id)
            for snapshot in replica.snapshots
            if pool.snapshot(snapshot.id).exists()
        }
        return values.ReplicaResult('active', tuple(self._exports.locations(replica.share)), kept)

    def delete(self, replica: values.Replica) -> None:
        """Delete the share like any other, with its snapshots and the data of its copy."""
        self._delete_snapshots(replica)
        self._shares.delete(replica.share)
        migrations.tidy(self._copy(replica))

    # Pieces -----------------------------------------------------------------------------------

    def _copy(self, replica: values.Replica) -> BtrfsCopy:
        snapshot_ids = [snapshot.id for snapshot in replica.snapshots]
        migrations.must_be_ids(replica.id, replica.active.id, *snapshot_ids)
        try:
            command: Sequence[str] = peer_session.command(replica.active_host, self._conf)
        except peer_session.Unknown as unknown:
            LOG.warning('%s: %s', replica.id, unknown)
            command = ('false',)
        return BtrfsCopy(self._storage.btrfs, command, replica.id, {replica.active.id: snapshot_ids})

    def _receive(self, replica: values.Replica, copy: BtrfsCopy, *, freeze: bool = False) -> bool:
        """Bring a round from the active replica, which is frozen before if ``freeze`` says so. Returns whether it could
        be reached.

        :raises CommandFailed: the active replica was frozen, but its last data did not come.
        """
        frozen = False
        try:
            with copy.session() as session:
                if freeze:
                    session.ask('freeze', share=replica.active.id)
                    frozen = True
                copy.round(session)
        except migrations.AWAY as bad:
            if frozen:
                raise CommandFailed(f'the last changes of {replica.active.id} did not arrive: {bad}') from bad
            LOG.warning(
                '%s: its active replica at %s cannot be reached: %s', replica.id, replica.active_host, bad
            )
            return False
        # Only now: they would be the only snapshots left if the active replica had not come back.
        self._delete_snapshots(replica)
        received = transfer_folder.Received(self._storage.btrfs.root, replica.id)
        whole = received.whole()
        rounds = {transfer_folder.number_of(replica.active.id, name): name for name in whole}
        wanted = {snapshot.id for snapshot in replica.snapshots}
        self._replace(replica, received.at(rounds[max(rounds)]))
        received.forget(
            [
                name
                for name in whole - wanted
                if not transfer_folder.number_of(replica.active.id, name) and not name.startswith('+')
            ]
        )
        return True

    def _replace(self, replica: values.Replica, source: Path) -> None:
        """Replace the share here by a copy of ``source``. The share is not exported for a moment."""
        share_id, pool = replica.id, self._storage.btrfs
        protocol_server = self._exports.protocol_server_of(replica.share) if replica.is_mounted else None
        pool.prepare(share_id, source, replica.share.size)
        with self._storage.exclusive(share_id):
            if protocol_server is not None:
                protocol_server.withdraw(share_id)
            pool.swap(share_id)
            self._sizes.remember(share_id, replica.share.size)
        pool.purge(share_id)

    def _demote(self, replica: values.Replica, copy: BtrfsCopy) -> None:
        """Stop the exports of a replica that was active until now, and make it an ordinary one."""
        self._withdraw(replica)
        with self._storage.exclusive(replica.id):
            for snapshot_id in self._snapshot_ids(replica):
                self._exports.forget(replica.share, snapshot_id)
            copy.begin()

    @staticmethod
    def _snapshot_ids(replica: values.Replica) -> list[str]:
        return [*(snapshot.id for snapshot in replica.snapshots), *replica.left]

    def _delete_snapshots(self, replica: values.Replica) -> None:
        """Delete the snapshots that the share got while it was the active replica."""
        for snapshot_id in self._snapshot_ids(replica):
            if self._storage.btrfs.snapshot(snapshot_id).exists():
                self._exports.forget(replica.share, snapshot_id)
                self._storage.btrfs.delete_snapshot(snapshot_id)

    def _withdraw(self, replica: values.Replica) -> None:
        """Stop the export, also if a call from the time as active replica ended only now and exported it."""
        with self._storage.exclusive(replica.id):
            self._exports.forget(replica.share)

    def _serve(self, replica: values.Replica, state: str) -> values.ReplicaResult:
        """Export the replica, read-only, if clients may mount it. Returns the result of the call."""
        locations: Sequence[values.ExportLocation] = ()
        if replica.is_mounted:
            self._access.update(
                replica.share,
                [values.AccessRule(rule.id, rule.type, rule.to, 'ro') for rule in replica.rules],
            )
            locations = self._exports.locations(replica.share)
        kept = transfer_folder.Received(self._storage.btrfs.root, replica.id).whole()
        return values.ReplicaResult(
            state,
            tuple(locations),
            {snapshot.id: None for snapshot in replica.snapshots if snapshot.id in kept},
        )
