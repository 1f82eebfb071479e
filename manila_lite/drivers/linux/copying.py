# SPDX-License-Identifier: Apache-2.0
"""Shares with their snapshots come from another backend, while clients write to them: all of it, then what changed.

This is about data only, whoever serves it. A round takes every share as it is at one moment and brings what is new in
it; the last round, when nobody writes any more, makes the copy exact, and ``land`` puts it in its place. Everything
that a round needs to know is in the two folders of the migration, so a death at any moment costs no more than the
subvolume that was on its way.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from oslo_log import log

from manila_lite import errors, kinds
from manila_lite.drivers.linux import moving, stream
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.peers import Talk
from manila_lite.drivers.linux.pool import GIB

LOG = log.getLogger(__name__)

#: A round of so few bytes is near enough, and so is one that is hardly smaller than the one before.
_NEAR = 8 << 20
_HARDLY = 0.8
#: A stream is no larger than this many times what is to come, and these bytes; nor than this part of the free space.
_MANY, _MORE, _ROOM = 2, 1 << 30, 0.95


class Stopped(errors.ManilaLiteError):
    """The copy was told to stop."""


class TooMuch(errors.Final):
    """More comes than there can be. What is new in a file since the round before may come as zeros for all of a hole."""


class Copy:
    """The copy of some shares, each with its snapshots. One round at a time; ``stop`` and ``progress`` from any thread."""

    def __init__(self, pool: BtrfsPool, command: Sequence[str], migration: str, shares: Mapping[str, Collection[str]]):
        self._pool = pool
        self._command = command
        self._migration = migration
        self._shares = shares
        self._received = moving.Received(pool.root, migration)
        self._talk: Talk | None = None
        self._stopped = threading.Event()
        self._total = self._came = self._had = self._most = 0
        #: How many streams ended well.
        self.rounds = 0

    # Asked from elsewhere ---------------------------------------------------------------------

    def stop(self) -> None:
        """No round goes on, and none begins."""
        self._stopped.set()
        if talk := self._talk:
            talk.kill()

    def progress(self) -> kinds.MigrationProgress:
        """Return how much of all is here. The sizes are the pool's own counters: near, not exact."""
        total = max(self._total, 1)
        done = total if self.rounds else min(self._had + self._came, total)
        return kinds.MigrationProgress(100 * done // total, done, total)

    def pieces(self) -> int:
        """Return how many shares and snapshots are here, whole: what no stream has to bring again."""
        return len(self._received.whole())

    # Phase one --------------------------------------------------------------------------------

    def talk(self) -> Talk:
        """Return a conversation with the source, which ``stop`` ends.

        :raises Stopped: it was told to stop.
        """
        self._talk = Talk(self._command)
        if self._stopped.is_set():
            self._talk.kill()
            raise Stopped(self._migration)
        return self._talk

    def look(self, talk: Talk) -> dict[str, Any]:
        """Return what there is at the source; see ``Peer.look``. Its size is known then."""
        found = talk.ask('look', migration=self._migration, shares=list(self._shares),
                         snapshots=[ident for taken in self._shares.values() for ident in taken])
        weights = self._weights(found)
        whole = self._received.whole()
        self._total = sum(weights.values())
        self._had = sum(weight for name, weight in weights.items()
                        if name in whole or any(moving.number_of(name, other) for other in whole))
        return found

    @property
    def total(self) -> int:
        """Bytes that there are to copy, as the source counted them last."""
        return self._total

    def _weights(self, found: dict[str, Any]) -> dict[str, int]:
        """Return about how many bytes each share and snapshot adds to those before it."""
        weights = {}
        for share, chain in self._chains(found).items():
            before = 0
            for ident in (*chain, share):
                used, alone = found['sizes'][ident]
                weights[ident] = max(used - before, alone) if before else used
                before = used
        return weights

    def _chains(self, found: dict[str, Any]) -> dict[str, list[str]]:
        """Return the snapshots of each share, the oldest first."""
        return {share: [ident for ident in found['snapshots'] if ident in taken] for share, taken in self._shares.items()}

    def approach(self) -> None:
        """The copy is as near to the source as it gets while clients write.

        :raises errors.Final: the source does not have what is to be copied.
        :raises CommandFailed: a stream broke; calling again goes on behind what is here already.
        """
        before = 0
        while True:
            with self.talk() as talk:
                moved = self.round(talk)
            if moved <= _NEAR or (before and moved > before * _HARDLY):
                return
            before = moved

    def round(self, talk: Talk) -> int:
        """Everything is here as it was at one moment after this was called. Returns how many bytes came.

        :raises TooMuch: it would fill the pool.
        """
        with self._received.alone() as lock:
            try:
                return self._round(talk, lock)
            except TooMuch as much:
                LOG.warning('Migration %s: %s Files come whole instead of what is new in them.', self._migration, much)
                talk.close()
            with self.talk() as again:
                return self._round(again, lock, whole=True)

    def _round(self, talk: Talk, lock: int, *, whole: bool = False) -> int:
        """As ``round``; ``whole``: each share and snapshot comes by itself, and so no holes in its files."""
        self._received.settle(ended_well=False)
        found = self.look(talk)
        bases: dict[str, str | None] = dict.fromkeys(self._shares) if whole else self._bases(set(found['taken']))
        self._tidy(talk, found['taken'], bases)
        fresh = self._next_numbers(found['taken'])
        talk.ask('take', migration=self._migration, shares=fresh)
        parts = self._parts(found, bases, fresh)
        if whole:
            parts = [(None, name) for _, name in parts]
        self._came, self._most = 0, self._limit(found)
        source = talk.send(migration=self._migration, parts=parts)
        stream.receive(talk, source, self._pool.root, self._received.path, lock, self._count)
        self._received.settle(ended_well=True)
        self._received.forget([name for name in bases.values() if name])
        self.rounds += 1
        return self._came

    def _limit(self, found: dict[str, Any]) -> int:
        """Return how many bytes can come in one stream."""
        all_of_it: int = sum(used for used, _ in found['sizes'].values())
        return min(_MANY * all_of_it + _MORE, int(self._pool.capacity()[1] * GIB * _ROOM))

    def _count(self, moved: int) -> None:
        if self._stopped.is_set():
            raise Stopped(self._migration)
        self._came += moved
        if self._came > self._most:
            raise TooMuch(f'The source sends more than {self._most / GIB:.2f} GiB, which is more than its shares hold, or than '
                          'there is room for.')

    def _bases(self, taken: set[str]) -> dict[str, str | None]:
        """Return for each share what both sides have of it, of the latest round."""
        both = taken & self._received.whole()
        return {share: max((name for name in both if moving.number_of(share, name)), default=None,
                           key=lambda name: moving.number_of(share, name))
                for share in self._shares}

    def _tidy(self, talk: Talk, taken: Sequence[str], bases: Mapping[str, str | None]) -> None:
        """What no round will build on is gone at both sides."""
        kept = set(bases.values())
        talk.ask('drop', migration=self._migration, names=[name for name in taken if name not in kept])
        rounds = {name for name in self._received.whole() for share in self._shares if moving.number_of(share, name)}
        self._received.forget(rounds - kept)

    def _next_numbers(self, taken: Sequence[str]) -> dict[str, int]:
        return {share: 1 + max((moving.number_of(share, name) for name in taken), default=0) for share in self._shares}

    def _parts(self, found: dict[str, Any], bases: Mapping[str, str | None],
               fresh: Mapping[str, int]) -> list[tuple[str | None, str]]:
        whole = self._received.whole()
        parts: list[tuple[str | None, str]] = []
        for share, chain in self._chains(found).items():
            before = None
            for ident in chain:
                if ident not in whole:
                    parts.append((before, ident))
                before = ident
            parts.append((bases[share] or before, moving.taken(share, fresh[share])))
        return parts

    # Phase two --------------------------------------------------------------------------------

    def landed(self, share: str) -> bool:
        """Say whether the share is in its place in this pool."""
        return self._pool.share(share).exists()

    def land(self, sizes: Mapping[str, int]) -> None:
        """Shares can be written to, up to their sizes in GiB, and snapshots are where snapshots are."""
        whole = self._received.whole()
        for share, taken in self._shares.items():
            if self.landed(share):
                continue
            for ident in taken:
                self._pool.keep_snapshot(ident, self._received.at(ident))
            latest = max((name for name in whole if moving.number_of(share, name)),
                         key=lambda name: moving.number_of(share, name))
            self._pool.keep(share, self._received.at(latest), sizes[share])

    def take_back(self) -> None:
        """Nothing is in its place: it would be older than what the source has now."""
        for share, taken in self._shares.items():
            for ident in taken:
                self._pool.delete_snapshot(ident)
            self._pool.discard(share)
            self._pool.purge(share)

    @property
    def begun(self) -> bool:
        """Say whether there is anything of the copy here that is not in its place."""
        return self._received.path.exists()

    def begin(self) -> None:
        """``begun`` is true."""
        self._received.make()

    def clear(self, talk: Talk) -> None:
        """What is at the source for the copy is gone."""
        talk.ask('clear', migration=self._migration)

    def clear_here(self) -> None:
        """Nothing is left here but what is in its place."""
        if self.begun:
            with self._received.alone():
                pass    # whoever received has ended
            self._received.clear()
