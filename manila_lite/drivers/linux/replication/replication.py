# SPDX-License-Identifier: Apache-2.0
"""The copy of shares with their snapshots from another backend, while clients write: first all data, then the changes.

This module handles data only, not exports. A round takes every share as it is at one moment and brings its new data.
The last round runs when clients cannot write any more and makes the copy exact; ``land`` then puts the copy in its
place. The two folders of the migration hold the whole state, so a crash at any moment costs no more than the subvolume
that was in transit.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.pool.base import GIB
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import stream, transfer_folder
from manila_lite.drivers.linux.replication.peer_session import PeerSession

LOG = log.getLogger(__name__)

#: The copy is near enough after a round of at most _NEAR bytes, or of more than _HARDLY times the bytes of the round
#: before.
_NEAR = 8 << 20
_HARDLY = 0.8
#: Limits of a stream: _MANY times the data at the source plus _MORE bytes, and the part _ROOM of the free space.
_MANY, _MORE, _ROOM = 2, 1 << 30, 0.95


class Stopped(errors.ManilaLiteError):
    """The copy was told to stop."""


class TooMuch(errors.Final):
    """More comes than there can be. What is new in a file since the round before may come as zeros for all of a hole."""


class BtrfsCopy:
    """The copy of some shares with their snapshots, one round at a time.

    ``stop`` and ``progress`` may be called from any thread.
    """

    def __init__(
        self, pool: BtrfsPool, command: Sequence[str], migration: str, shares: Mapping[str, Collection[str]]
    ):
        self._pool = pool
        self._command = command
        self._migration = migration
        self._shares = shares
        self._received = transfer_folder.Received(pool.root, migration)
        self._session: PeerSession | None = None
        self._stopped = threading.Event()
        #: Number of bytes to copy, by the last count at the source.
        self.total = 0
        self._came = self._had = self._most = 0
        #: Number of streams that ended well.
        self.rounds = 0

    # Called from other threads ----------------------------------------------------------------

    def stop(self) -> None:
        """End the running round, and let no other begin."""
        self._stopped.set()
        if session := self._session:
            session.kill()

    def progress(self) -> values.MigrationProgress:
        """Return the progress of the copy. The sizes come from the pool's counters and are approximate."""
        total = max(self.total, 1)
        done = total if self.rounds else min(self._had + self._came, total)
        return values.MigrationProgress(100 * done // total, done, total)

    def pieces(self) -> int:
        """Return the number of complete shares and snapshots here, which no stream has to bring again."""
        return len(self._received.whole())

    # Phase one --------------------------------------------------------------------------------

    def session(self) -> PeerSession:
        """Return a session with the source, which ``stop`` ends.

        :raises Stopped: the copy was told to stop.
        """
        self._session = PeerSession(self._command)
        if self._stopped.is_set():
            self._session.kill()
            raise Stopped(self._migration)
        return self._session

    def inspect_source(self, session: PeerSession) -> dict[str, Any]:
        """Return the shares and snapshots at the source, see ``Peer.describe``. Also updates ``total``."""
        answer = session.ask(
            'look',
            migration=self._migration,
            shares=list(self._shares),
            snapshots=[snapshot_id for taken in self._shares.values() for snapshot_id in taken],
        )
        weights = self._weights(answer)
        whole = self._received.whole()
        self.total = sum(weights.values())
        self._had = sum(
            weight
            for name, weight in weights.items()
            if name in whole or any(transfer_folder.number_of(name, other) for other in whole)
        )
        return answer

    def _weights(self, answer: dict[str, Any]) -> dict[str, int]:
        """Return roughly how many bytes each share and snapshot adds to those before it."""
        weights = {}
        for share, chain in self._chains(answer).items():
            before = 0
            for resource_id in (*chain, share):
                used, exclusive = answer['sizes'][resource_id]
                weights[resource_id] = max(used - before, exclusive) if before else used
                before = used
        return weights

    def _chains(self, answer: dict[str, Any]) -> dict[str, list[str]]:
        """Return the snapshots of each share, the oldest first."""
        return {
            share: [snapshot_id for snapshot_id in answer['snapshots'] if snapshot_id in taken]
            for share, taken in self._shares.items()
        }

    def approach(self) -> None:
        """Run rounds until the copy is as close to the source as it can get while clients write.

        :raises errors.Final: the source lacks a share or snapshot.
        :raises CommandFailed: a stream broke; another call continues after the data that is here.
        """
        before = 0
        while True:
            with self.session() as session:
                moved = self.round(session)
            if moved <= _NEAR or (before and moved > before * _HARDLY):
                return
            before = moved

    def round(self, session: PeerSession) -> int:
        """Copy all shares and snapshots, as they are at one moment after the call. Returns the number of bytes that
        came.

        :raises TooMuch: the stream would fill the pool.
        """
        with self._received.exclusive() as lock:
            try:
                return self._round(session, lock)
            except TooMuch as much:
                LOG.warning(
                    'Migration %s: %s Whole files are copied instead of their changes.', self._migration, much
                )
                session.close()
            with self.session() as again:
                return self._round(again, lock, whole=True)

    def _round(self, session: PeerSession, lock: int, *, whole: bool = False) -> int:
        """Run a round.

        ``whole``: each share and snapshot is sent in full, not as a difference, so that holes in files are not sent as
        zeros.
        """
        self._received.settle(ended_well=False)
        answer = self.inspect_source(session)
        bases: dict[str, str | None] = (
            dict.fromkeys(self._shares) if whole else self._bases(set(answer['taken']))
        )
        self._tidy(session, answer['taken'], bases)
        fresh = {
            share: 1 + max((transfer_folder.number_of(share, name) for name in answer['taken']), default=0)
            for share in self._shares
        }
        session.ask('take', migration=self._migration, shares=fresh)
        parts = self._parts(answer, bases, fresh)
        if whole:
            parts = [(None, name) for _, name in parts]
        self._came, self._most = 0, self._limit(answer)
        source = session.send(migration=self._migration, parts=parts)
        stream.receive(session, source, self._pool.root, self._received.path, lock, self._count)
        self._received.settle(ended_well=True)
        self._received.forget([name for name in bases.values() if name])
        self.rounds += 1
        return self._came

    def _limit(self, answer: dict[str, Any]) -> int:
        """Return the largest number of bytes that one stream may bring."""
        all_of_it: int = sum(used for used, _ in answer['sizes'].values())
        return min(_MANY * all_of_it + _MORE, int(self._pool.capacity()[1] * GIB * _ROOM))

    def _count(self, moved: int) -> None:
        if self._stopped.is_set():
            raise Stopped(self._migration)
        self._came += moved
        if self._came > self._most:
            raise TooMuch(
                f'The source sends more than {self._most / GIB:.2f} GiB, which is more than its shares hold, or than '
                'there is room for.'
            )

    def _bases(self, taken: set[str]) -> dict[str, str | None]:
        """Return for each share the latest round that both sides have, or None."""
        both = taken & self._received.whole()
        return {
            share: max(
                (name for name in both if transfer_folder.number_of(share, name)),
                default=None,
                key=lambda name: transfer_folder.number_of(share, name),
            )
            for share in self._shares
        }

    def _tidy(self, session: PeerSession, taken: Sequence[str], bases: Mapping[str, str | None]) -> None:
        """Delete the rounds at both sides that no later round builds on."""
        kept = set(bases.values())
        session.ask('drop', migration=self._migration, names=[name for name in taken if name not in kept])
        rounds = {
            name
            for name in self._received.whole()
            for share in self._shares
            if transfer_folder.number_of(share, name)
        }
        self._received.forget(rounds - kept)

    def _parts(
        self, answer: dict[str, Any], bases: Mapping[str, str | None], fresh: Mapping[str, int]
    ) -> list[tuple[str | None, str]]:
        whole = self._received.whole()
        parts: list[tuple[str | None, str]] = []
        for share, chain in self._chains(answer).items():
            before = None
            for snapshot_id in chain:
                if snapshot_id not in whole:
                    parts.append((before, snapshot_id))
                before = snapshot_id
            parts.append((bases[share] or before, transfer_folder.taken(share, fresh[share])))
        return parts

    # Phase two --------------------------------------------------------------------------------

    def landed(self, share: str) -> bool:
        """Say whether the share is in its place in this pool."""
        return self._pool.share(share).exists()

    def land(self, sizes: Mapping[str, int]) -> None:
        """Put the snapshots in their place, and the shares with limits of their sizes in GiB."""
        whole = self._received.whole()
        for share, taken in self._shares.items():
            if self.landed(share):
                continue
            for snapshot_id in taken:
                self._pool.keep_snapshot(snapshot_id, self._received.at(snapshot_id))
            latest = max(
                (name for name in whole if transfer_folder.number_of(share, name)),
                key=lambda name: transfer_folder.number_of(share, name),
            )
            self._pool.keep(share, self._received.at(latest), sizes[share])

    def take_back(self) -> None:
        """Delete the landed shares and snapshots: the source has newer data."""
        for share, taken in self._shares.items():
            for snapshot_id in taken:
                self._pool.delete_snapshot(snapshot_id)
            self._pool.discard(share)
            self._pool.purge(share)

    @property
    def begun(self) -> bool:
        """Say whether the folder of the copy exists here."""
        return self._received.path.exists()

    def must_be_new(self) -> None:
        """Check that none of the shares and snapshots is here: the copy has not begun.

        :raises errors.Final: one is.
        """
        old = [share for share in self._shares if self.landed(share)]
        old += [one for taken in self._shares.values() for one in taken if self._pool.snapshot(one).exists()]
        if old:
            raise errors.Final(f'This backend has old data of {", ".join(old)}.')

    def begin(self) -> None:
        """Create the folder of the copy, so that ``begun`` is true."""
        self._received.make()

    def clear(self, session: PeerSession) -> None:
        """Delete the copy's data at the source."""
        session.ask('clear', migration=self._migration)

    def clear_here(self) -> None:
        """Delete the copy's data here, except for landed shares and snapshots."""
        if self.begun:
            with self._received.exclusive():
                pass  # wait until a receiving process has ended
            self._received.clear()
