# SPDX-License-Identifier: Apache-2.0
"""Replicas of shares of other linux backends.

The data comes as in a migration (``copying.py``), in rounds of new data; the latest round is the replica.

While the folder of the copy exists the share here is a replica. A promotion freezes the active replica in its pool, so
that no write is acknowledged any more, brings the last round, and deletes the folder.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.interface import Backend, Replicates
from manila_lite.drivers.linux.ids import SAFE_ID
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.unmanaged import SNAPSHOTS
from manila_lite.drivers.linux.replication import peer_session, transfer_folder
from manila_lite.drivers.linux.replication.replication import Copy
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

_IN_SYNC, _OUT_OF_SYNC = 'in_sync', 'out_of_sync'
#: Errors that may mean that the active replica cannot be reached.
_AWAY = (errors.Final, CommandFailed, OSError)


class LinuxReplication(Replicates):
    """The part of the driver that keeps replicas."""

    REPLICATION_TYPES = frozenset({'readable', 'dr'})

    backend: Backend

    # Calls ------------------------------------------------------------------------------------

    def create_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Create an empty share, which the first update fills."""
        if replica.type not in self.REPLICATION_TYPES or replica.active_host == self.backend.host:
            raise errors.Final('A replica has to be readable or dr, and at another backend than the active one.')
        self._vet(replica.share)
        copy = self._copy_for(replica)
        with self._alone(replica.id):
            self._btrfs.create(replica.id, replica.share.size)
            copy.begin()
        return self._offered(replica, _OUT_OF_SYNC)

    def update_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Bring a round of the copy, and offer it to clients."""
        self._need(replica.share)
        copy = self._copy_for(replica)
        if not copy.begun:
            self._give_up(replica, copy)
        elif not replica.is_mounted:
            self._shut(replica)
        came = self._come(replica, copy)
        return self._offered(replica, _IN_SYNC if came else _OUT_OF_SYNC)

    def promote_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Freeze the active replica, and bring its last data. If it cannot be reached, promote the data that is here."""
        self._need(replica.share)
        copy = self._copy_for(replica)
        if copy.begun:
            self._come(replica, copy, freeze=True)
            received = transfer_folder.Received(self._btrfs.root, replica.id)
            for ident in sorted(received.whole() & {snapshot.id for snapshot in replica.snapshots}):
                self._btrfs.keep_snapshot(ident, received.at(ident))
            btrfs.sync(self._btrfs.root)
        self.update_access(replica.share, replica.rules)
        self._let_go(copy)
        held = {snapshot.id: f'/{SNAPSHOTS}/{snapshot.id}' for snapshot in replica.snapshots
                if self._btrfs.snapshot(snapshot.id).exists()}
        return values.ReplicaResult('active', tuple(self._locations(replica.share)), held)

    def delete_replica(self, replica: values.Replica) -> None:
        """Delete the share like any other, with its snapshots and the data of its copy."""
        self._forget_snapshots(replica)
        self.delete_share(replica.share)
        self._let_go(self._copy_for(replica))

    # Pieces -----------------------------------------------------------------------------------

    def _copy_for(self, replica: values.Replica) -> Copy:
        taken = [snapshot.id for snapshot in replica.snapshots]
        for ident in (replica.id, replica.active.id, *taken):
            if not SAFE_ID.fullmatch(ident):
                raise errors.Final(f'{ident!r} is no id.')
        try:
            command: Sequence[str] = peer_session.words(replica.active_host, self.backend.conf)
        except peer_session.Unknown as unknown:
            LOG.warning('%s: %s', replica.id, unknown)
            command = ('false',)
        return Copy(self._btrfs, command, replica.id, {replica.active.id: taken})

    def _come(self, replica: values.Replica, copy: Copy, *, freeze: bool = False) -> bool:
        """Bring a round from the active replica, which is frozen before if ``freeze`` says so. Returns whether it could
        be reached.

        :raises CommandFailed: the active replica was frozen, but its last data did not come.
        """
        frozen = False
        try:
            with copy.talk() as talk:
                if freeze:
                    talk.ask('freeze', share=replica.active.id)
                    frozen = True
                copy.round(talk)
        except _AWAY as bad:
            if frozen:
                raise CommandFailed(f'the last of {replica.active.id} did not come: {bad}') from bad
            LOG.warning('%s: its active replica at %s cannot be reached: %s', replica.id, replica.active_host, bad)
            return False
        # Only now: they would be the only snapshots left if the active replica had not come back.
        self._forget_snapshots(replica)
        received = transfer_folder.Received(self._btrfs.root, replica.id)
        whole = received.whole()
        rounds = {transfer_folder.number_of(replica.active.id, name): name for name in whole}
        wanted = {snapshot.id for snapshot in replica.snapshots}
        self._put(replica, received.at(rounds[max(rounds)]))
        received.forget([name for name in whole - wanted if not transfer_folder.number_of(replica.active.id, name)
                         and not name.startswith('+')])
        return True

    def _put(self, replica: values.Replica, source: Path) -> None:
        """Replace the share here by a copy of ``source``. The share is not exported for a moment."""
        ident = replica.id
        protocol_server = self._protocol_server_of(replica.share) if replica.is_mounted else None
        self._btrfs.prepare(ident, source, replica.share.size)
        with self._alone(ident):
            if protocol_server is not None:
                protocol_server.withdraw(ident)
            self._btrfs.swap(ident)
            self._ensuring.sized(ident, replica.share.size)
        self._btrfs.purge(ident)

    def _give_up(self, replica: values.Replica, copy: Copy) -> None:
        """Stop the exports of a replica that was active until now, and make it an ordinary one."""
        self._shut(replica)
        with self._alone(replica.id):
            for ident in self._known(replica):
                self._forget_export(replica.share, ident)
            copy.begin()

    @staticmethod
    def _known(replica: values.Replica) -> list[str]:
        return [*(snapshot.id for snapshot in replica.snapshots), *replica.left]

    def _forget_snapshots(self, replica: values.Replica) -> None:
        """Delete the snapshots that the share got while it was the active replica."""
        for ident in self._known(replica):
            if self._btrfs.snapshot(ident).exists():
                self._forget_export(replica.share, ident)
                self._btrfs.delete_snapshot(ident)

    def _shut(self, replica: values.Replica) -> None:
        """Stop the export, also if a call from the time as active replica ended only now and exported it."""
        with self._alone(replica.id):
            self._forget_export(replica.share)

    def _offered(self, replica: values.Replica, state: str) -> values.ReplicaResult:
        """Export the replica, read-only, if clients may mount it. Returns the result of the call."""
        places: Sequence[values.ExportLocation] = ()
        if replica.is_mounted:
            self.update_access(replica.share, [values.AccessRule(rule.id, rule.type, rule.to, 'ro') for rule in replica.rules])
            places = self._locations(replica.share)
        held = transfer_folder.Received(self._btrfs.root, replica.id).whole()
        return values.ReplicaResult(state, tuple(places), {
            snapshot.id: None for snapshot in replica.snapshots if snapshot.id in held})

    def _let_go(self, copy: Copy) -> None:
        """Delete the copy's data here, and at the source if it can be reached."""
        if not copy.begun:
            return
        with contextlib.suppress(*_AWAY), copy.talk() as talk:
            copy.clear(talk)
        copy.clear_here()

    # Defined by the driver class.
    _btrfs: BtrfsPool
    _ensuring: Any
    _vet: Any
    _need: Any
    _alone: Any
    _protocol_server_of: Any
    _forget_export: Any
    _locations: Callable[[values.Share], Sequence[values.ExportLocation]]
    delete_share: Any
    update_access: Callable[[values.Share, Sequence[values.AccessRule]], Mapping[str, values.RuleResult]]
