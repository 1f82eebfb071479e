# SPDX-License-Identifier: Apache-2.0
"""The listeners of one process, and the thread that looks for changes: once for all of them, and only while there are any."""

import collections
import dataclasses
import datetime
import logging
import threading
import time
from collections.abc import Iterable

from oslo_utils import uuidutils

from manila_lite import context, errors
from manila_lite.api.events.audience import Audience
from manila_lite.api.events.batches import NO_DATA, Batch, render
from manila_lite.api.events.changes import BEFORE, Changes, TooMany
from manila_lite.api.events.cursor import EPOCH, Cursor
from manila_lite.api.events.digests import Digests
from manila_lite.api.events.listener import Listener
from manila_lite.api.events.records import POOL, RESET, SERVICE, History, Record
from manila_lite.api.events.standing import Standing

LOG = logging.getLogger(__name__)

#: Seconds between looks.
EVERY = 1.0
#: Seconds for which changes are kept, and their number at most: a client that was away for longer loads everything anew.
KEPT, MOST = 900.0, 10_000
#: Seconds by which a position that a client names may be ahead of the last look here, and by which a look back goes further
#: than it must, so that the next client needs none.
_AHEAD, _FURTHER = 60.0, 30.0


@dataclasses.dataclass(eq=False)
class _Group:
    """The listeners of one audience, and the position up to which they have everything."""

    audience: Audience
    position: str
    listeners: list[Listener] = dataclasses.field(default_factory=list)


class Hub:
    """The listeners of a process. The thread begins with the first of them, and ends with the last."""

    def __init__(self, services: context.Services):
        self._conf = services.conf
        self._changed = threading.Condition()
        self._new: list[Listener] = []
        self._has_come = False
        self._runs = False
        self._counts: collections.Counter[str] = collections.Counter()
        # Of the thread alone:
        self._changes = Changes(services.db)
        self._standing = Standing(services.db, services.conf)
        self._groups: dict[Audience, _Group] = {}
        self._looked = -KEPT
        self._digests: tuple[object, Digests] = (None, Digests(()))
        self._begin()

    # Any thread

    def admit(
        self,
        audience: Audience,
        cursor: Cursor | None,
        *,
        given: bool,
        stream: bool,
        once: bool,
        seconds: float,
    ) -> Listener:
        """Return a listener, which has a place until it is closed. It gets nothing before ``listen``.

        :raises errors.Busy: there are too many already, of this project or of all.
        """
        own, project_id = self._conf.events, audience.project_id
        with self._changed:
            if (
                self._counts.total() >= min(own.max_listeners, self._conf.api.max_connections // 2)
                or self._counts[project_id] >= own.max_listeners_per_project
            ):
                raise errors.Busy(
                    'Too many clients of this project, or of all projects, listen to events. Listen again in a '
                    'moment.'
                )
            self._counts[project_id] += 1
        return Listener(
            audience,
            cursor,
            given=given,
            stream=stream,
            once=once,
            until=time.monotonic() + seconds,
            buffer=own.listener_buffer,
            leave=self._leave,
        )

    def listen(self, listener: Listener) -> None:
        """Give the listener the events that it missed, and all that follow."""
        with self._changed:
            self._new.append(listener)
            self._has_come = True
            if self._runs:
                self._changed.notify()
            else:
                self._runs = True
                threading.Thread(target=self._run, name='events', daemon=True).start()

    def _leave(self, listener: Listener) -> None:
        with self._changed:
            self._counts[listener.audience.project_id] -= 1
            if not self._counts[listener.audience.project_id]:
                del self._counts[listener.audience.project_id]
            if not self._counts:
                self._changed.notify()

    # The thread

    def _run(self) -> None:
        while (new := self._await()) is not None:
            try:
                looks = time.monotonic() >= self._looked + EVERY
                if looks:
                    self._read_changes(new)
                # Who begins anew knows what there is at the time of a look, and not only what there was before.
                if (history := self._history) is not None:
                    for listener in [one for one in new if looks or one.given]:
                        new.remove(listener)
                        self._welcome(listener, history)
            except Exception:
                LOG.exception('Events: the look for changes failed')
            with self._changed:
                self._new += new  # those wait for the next look, or for the first that does not fail

    def _await(self) -> list[Listener] | None:
        """Wait for the time of the next look, or for a new listener. Return the new ones; None if nobody listens."""
        with self._changed:
            while (
                self._counts and not self._has_come and (left := self._looked + EVERY - time.monotonic()) > 0
            ):
                self._changed.wait(left)
            for group in list(self._groups.values()):
                group.listeners = [one for one in group.listeners if not one.is_closed]
                if not group.listeners:
                    del self._groups[group.audience]
            new, self._new, self._has_come = [one for one in self._new if not one.is_closed], [], False
            self._runs = bool(self._counts)
            return new if self._runs else None

    def _begin(self) -> None:
        """Begin anew: positions of before are those of another process."""
        self._name, self._number = uuidutils.generate_uuid(dashed=False)[:8], 0
        self._history: History | None = None
        self._no_further = EPOCH
        self._found: list[Record] = []
        self._has_lost = False
        self._changes.forget()

    def _read_changes(self, new: Iterable[Listener]) -> None:
        """Look for changes, and give them to the listeners."""
        if time.monotonic() - self._looked > KEPT:
            self._begin()
        self._looked = time.monotonic()
        try:
            self._found += self._changes.read_new()  # kept, if what follows fails
        except TooMany:
            LOG.warning(
                'Events: more changes at once than are worth an event each; clients load everything anew'
            )
            self._begin()
            self._has_lost = True
            self._changes.read_new()
        now = self._changes.time or EPOCH
        if self._history is None:
            self._history = History(now, MOST, KEPT)
        everybody = [*(group.audience for group in self._groups.values()), *(one.audience for one in new)]
        changed, known = self._standing.compare(
            {kind for kind in (POOL, SERVICE) if any(one.sees_kind(kind) for one in everybody)}, now
        )
        if known:
            self._history.prepend(known, self._history.since)
        news = self._remember([*self._found, *changed], self._history, now)
        self._tell([_reset(now)] if self._has_lost else news)
        self._found, self._has_lost = [], False

    def _remember(self, found: Iterable[Record], history: History, now: datetime.datetime) -> list[Record]:
        """Add changes to the history. Return those that are news."""
        self._number += 1
        news = [record for record in found if history.is_news(record)]
        for record in news:
            record.look = self._number
            history.add(record)
        history.expire(now)
        return news

    def _tell(self, news: list[Record]) -> None:
        for group in self._groups.values():
            position = self._position(group.audience)
            batch = Batch(self._shown(news, group.audience), group.position, position)
            for listener in group.listeners:
                listener.put(batch, position)
            group.position = position

    def _position(self, audience: Audience) -> str:
        if self._digests[0] is not self._changes.census:
            self._digests = self._changes.census, Digests(self._changes.census)
        return str(
            Cursor(self._changes.time or EPOCH, self._name, self._number, self._digests[1].of(audience))
        )

    def _welcome(self, listener: Listener, history: History) -> None:
        audience = listener.audience
        group = self._groups.get(audience)
        if group is None:
            group = self._groups[audience] = _Group(audience, self._position(audience))
        missed = self._missed(listener, history)
        shown = self._shown([_reset(history.since)] if missed is None else missed, audience)
        group.listeners.append(listener)
        listener.welcome(Batch(shown, str(listener.cursor or ''), group.position), group.position)

    def _shown(self, records: Iterable[Record], audience: Audience) -> list[tuple[str, bytes]]:
        """Return the events of an audience: a reset, if they are more than a client could take at once."""
        shown = [render(record, audience) for record in records if audience.sees(record)]
        if sum(len(data) for _, data in shown) > self._conf.events.listener_buffer // 2:
            return [(RESET, NO_DATA)]
        return shown

    def _missed(self, listener: Listener, history: History) -> list[Record] | None:
        """Return the changes since the position that a listener named; None if that is too old, or unknown."""
        cursor, now = listener.cursor, self._changes.time
        if cursor is None or now is None:
            return None if listener.given else []
        if cursor.hub == self._name:
            return history.after_look(cursor.look) if cursor.look <= self._number else None
        if cursor.time > now + datetime.timedelta(seconds=_AHEAD) or cursor.census != self._digests[1].of(
            listener.audience
        ):
            return None
        need = cursor.time - datetime.timedelta(seconds=BEFORE)
        self._extend_history(history, need, now)
        return history.after_time(need)

    def _extend_history(self, history: History, need: datetime.datetime, now: datetime.datetime) -> None:
        """Complete the history from ``need`` on, if that is not too long ago, and there are not too many changes."""
        if not self._no_further < need < history.since or need < now - datetime.timedelta(seconds=KEPT):
            return
        since = need - datetime.timedelta(seconds=_FURTHER)
        try:
            history.prepend(self._changes.read_since(since), since)
        except TooMany:
            self._no_further = need


def _reset(at: datetime.datetime) -> Record:
    return Record(RESET, RESET, None, RESET, None, at, at)
