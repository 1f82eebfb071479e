# SPDX-License-Identifier: Apache-2.0
"""Ids that lost access to a subvolume, until all that they got of Ceph before has ended.

A client gets tickets from the monitors, and shows them to metadata servers and OSDs. What its id may do is in the ticket. So a
client that has tickets can come back after it was evicted, or come for the first time, although its id was deleted: from a
connection that no eviction has blocked, or when the cluster has forgotten the block. A session that it opens so has no end.

Nobody can take tickets back. They end after a while, which the cluster sets (``auth_service_ticket_ttl``). Until then, sessions
of ids without access are looked for once a minute, and ended unless they are surely about another subvolume: the metadata
server itself has compared the directory with what the client says, and that with its ticket. If something in their list is
forged, all sessions of the id are ended. When the tickets have ended, all sessions of the ids are ended once more, whatever
they say: those that come later have tickets of today.

The ids are in a mark of the subvolume, so that neither a crash nor a restart forgets them.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping

from oslo_log import log

from manila_lite.drivers.cephfs.cluster.answers import Away, Refused
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.volumes.auth_ids import AuthIds, noted
from manila_lite.drivers.cephfs.volumes.sessions import Session, Sessions, Unreadable
from manila_lite.drivers.cephfs.volumes.subvolumes import TO_EVICT, Subvolume, Subvolumes, note, noted_in
from manila_lite.host.locks import Locks

LOG = log.getLogger(__name__)

#: Seconds for which tickets are made, unless the cluster says otherwise.
_TICKET = 3600.0
#: How many times as long one can be used: services know the keys of three periods.
_PERIODS = 3
#: The ids of a subvolume: None if their sessions must still be ended, else the time when their tickets have ended.
_Known = Mapping[str, float | None]


class Evictions:
    """The ids that lost access to subvolumes of a backend. Safe for threads."""

    def __init__(self, cluster: Cluster, subvolumes: Subvolumes, sessions: Sessions):
        self._cluster = cluster
        self._subvolumes = subvolumes
        self._sessions = sessions
        self._ids = AuthIds(subvolumes)
        self._locks = Locks()
        self._followed: set[str] = set()  # names of subvolumes

    def plan(self, name: str, auth_ids: Iterable[str]) -> None:
        """Note that sessions of these ids must be ended: before access is taken away, so that a crash forgets nothing."""
        self._change(name, lambda known: {**known, **dict.fromkeys(auth_ids)})

    def done(self, name: str, shut_out: Collection[str], kept: Collection[str] = ()) -> None:
        """Note that the sessions of ids are ended, and follow these from now on. Forget the ids that keep their access."""
        until = end_of_tickets(self._cluster) if shut_out else None
        self._change(
            name,
            lambda known: {
                **{one: known[one] for one in known if one not in kept},
                **dict.fromkeys(shut_out, until),
            },
        )

    def follow(self, subvolume: Subvolume) -> None:
        """Follow the ids that an earlier process has noted."""
        if _followed(_known(subvolume.marks)):
            self._followed.add(subvolume.name)

    def keep_out(self) -> None:
        """End sessions of ids that were shut out, and have come back. Without active metadata servers it can wait."""
        if not self._followed or not self._sessions.can_be_asked_for:
            return
        for name in tuple(self._followed):
            try:
                self._keep_out_of(name)
            except (Away, Refused) as bad:
                LOG.warning(
                    'Subvolume %s: clients that were shut out may be back; they are looked for later: %s',
                    name,
                    bad,
                )

    def _keep_out_of(self, name: str) -> None:
        subvolume = self._subvolumes.get(name)
        if subvolume is None or not subvolume.path:
            self._followed.discard(name)
            return
        present = noted(subvolume.marks) | self._ids.levels(name).keys()
        over = {}
        for auth_id, until in _followed(_known(subvolume.marks)).items():
            if is_over(until):
                self._sessions.evict(auth_id)
                over[auth_id] = until
            elif auth_id not in present:
                self._end_returned(auth_id, subvolume.path)
        if over:
            self._change(
                name,
                lambda known: {one: known[one] for one in known if (one, known[one]) not in over.items()},
            )

    def _end_returned(self, auth_id: str, path: str) -> None:
        """End the sessions of an id without access to the path, except for those that are surely about another one."""
        try:
            back = [one for one in self._sessions.of(auth_id) if not self._is_elsewhere(one, path)]
        except Unreadable as forged:
            LOG.error('Ceph id %s: all its sessions are ended: %s', auth_id, forged)
            self._sessions.evict(auth_id)
        else:
            self._sessions.end(back)

    def _is_elsewhere(self, session: Session, path: str) -> bool:
        return (
            session.root.strip('/') != ''
            and not session.is_below(path)
            and not path.startswith(f'{session.root}/')
            and self._sessions.is_surely_at_its_root(session)
        )

    def _change(self, name: str, change: Callable[[_Known], _Known]) -> None:
        """Note other ids of a subvolume."""
        with self._locks.of(name):
            before = _known(self._subvolumes.ask('metadata ls', name) or {})
            now = change(before)
            note(self._subvolumes, name, TO_EVICT, before, now)
            if _followed(now):
                self._followed.add(name)
            else:
                self._followed.discard(name)


def end_of_tickets(cluster: Cluster) -> float:
    """Return when all tickets have ended that clients have now."""
    try:
        told = cluster.monitor('config get', who='mon', key='auth_service_ticket_ttl')
    except Refused:
        told = _TICKET
    return time.time() + _PERIODS * float(told)


def is_over(until: float) -> bool:
    return until < time.time()


def planned(marks: Mapping[str, str]) -> frozenset[str]:
    """Return the ids whose sessions must still be ended, by the marks of a subvolume."""
    return frozenset(auth_id for auth_id, until in _known(marks).items() if until is None)


def _known(marks: Mapping[str, str]) -> _Known:
    told = noted_in(marks, TO_EVICT) or {}
    return told if isinstance(told, dict) else dict.fromkeys(told)  # a list is of an older release


def _followed(known: _Known) -> dict[str, float]:
    return {auth_id: until for auth_id, until in known.items() if until is not None}
