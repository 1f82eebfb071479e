# SPDX-License-Identifier: Apache-2.0
"""The gateways of an existing NFS cluster, as far as the cluster sees them: each has a session for each export.

Ceph's manager tells the gateways that exports have changed, and does not know when they have read them, or whether: a gateway
may have missed it. So each change of an export is followed by a new export of the same directory to nobody, the witness. A
gateway reads all exports in one go, and in their order, and opens a session for a new one: when it has one for the witness, it
has put in force whatever changed before.

A gateway that has none for it after a while is shut out of the share: the export is removed with its key, the metadata servers
end the gateway's session, and there is a new export with another id. With tickets that it got by the former key the gateway
could come back. So it is kept out like a native client that lost its access.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from oslo_log import log

from manila_lite.drivers.cephfs.cluster.answers import Away, Refused
from manila_lite.drivers.cephfs.nfs_cluster.exports import Client, ClusterExport, Exports
from manila_lite.drivers.cephfs.volumes.evictions import Evictions, planned
from manila_lite.drivers.cephfs.volumes.sessions import Session, Sessions
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume
from manila_lite.host.waits import until

LOG = log.getLogger(__name__)

#: Folder of the witnesses as clients would see it.
_WITNESSES = '/manila_lite'
#: Seconds that gateways have to put a change in force, or to let go of an export that is removed.
_FOLLOW, _LET_GO = 20.0, 5.0
_PAUSE = 0.2
_NOT_SERVED = 'The share was not exported; it is again.'
_OTHER_RULES = 'Other access rules were in force than there should be; those that should be are.'
_OTHER_SETTINGS = 'The export had other settings than it should have; it has those.'


class Gateways:
    """The gateways of one NFS cluster. Safe for threads, if no two change the same export at once."""

    def __init__(self, exports: Exports, sessions: Sessions, evictions: Evictions):
        self._exports = exports
        self._sessions = sessions
        self._evictions = evictions

    def admit(self, pseudo: str) -> None:
        """Check that the cluster can have this export.

        :raises errors.Final: it cannot; the message says what to do.
        """
        if self._exports.find(pseudo) is None:
            self._exports.vet_room()

    def serve(self, name: str, subvolume: Subvolume, pseudo: str, clients: Sequence[Client]) -> bool:
        """Export the subvolume to exactly these clients, by every gateway. Returns whether the export is new.

        ``name`` is that of the share.

        :raises Away: no gateway exports it.
        """
        known = self._exports.find(pseudo)
        if known and not known.leads_to(self._exports.filesystem, subvolume.path):
            self.forget(name, pseudo, subvolume.name)
            known = None
        owed = planned(subvolume.marks)
        closes = bool(known and (owed or not known.is_common or _closes(known.clients, clients)))
        if known and closes:
            self._evictions.plan(subvolume.name, owed | {known.user})
        served = (
            known
            if known and self._change(known, clients) and self._follow(name, known, closes=closes)
            else None
        )
        if served is None:
            served = self._exports.create(pseudo, subvolume.path, clients)
            self._await_served(served, absent_is_well=closes)
        for user in owed - {known.user if known else ''}:
            self._sessions.evict(user)
        former = (owed | {known.user} if known else owed) - {served.user}
        if closes or former or owed:
            self._evictions.done(subvolume.name, former, {served.user})
        return known is None

    def forget(self, name: str, pseudo: str, subvolume: str | None = None) -> None:
        """Remove the export and its id, and end the sessions of gateways that do not let go of it. They are kept out of the
        subvolume of this name.
        """
        users = {
            known.user
            for one in (self._witness(name), pseudo)
            if (known := self._exports.find(one)) and not self._drop(known)
        }
        if users and subvolume:
            self._evictions.done(subvolume, users)

    def defects_of(self, subvolume: Subvolume, pseudo: str, clients: Sequence[Client]) -> list[str]:
        """Return in words the repairs that ``serve`` would make."""
        known = self._exports.find(pseudo)
        if known is None or not known.leads_to(self._exports.filesystem, subvolume.path):
            return [_NOT_SERVED]
        other_rules = known.clients != tuple(clients) or planned(subvolume.marks)
        return [*([_OTHER_RULES] if other_rules else []), *([] if known.is_common else [_OTHER_SETTINGS])]

    # Changes ----------------------------------------------------------------------------------

    def _change(self, known: ClusterExport, clients: Sequence[Client]) -> bool:
        """Change the export, if it is another. Returns whether that worked: without its id, for instance, it must be new."""
        if known.clients == tuple(clients) and known.is_common:
            return True
        try:
            self._exports.change(known, clients)
        except Refused as refused:
            LOG.warning(
                '%s: the export by the NFS cluster %s is made anew: %s',
                known.pseudo,
                self._exports.name,
                refused,
            )
            self._drop(known)
            return False
        return True

    def _drop(self, known: ClusterExport) -> bool:
        """Remove the export. Returns whether all gateways let go of it."""
        self._exports.remove(known.pseudo)
        return self._let_go(known.user)

    def _await_served(self, export: ClusterExport, *, absent_is_well: bool = False) -> None:
        """Wait until a gateway has the export. With ``absent_is_well`` there may be none: nobody has access, then."""
        if until(lambda: self._sessions.are_any(export.user), _FOLLOW, _PAUSE):
            return
        why = (
            f'No gateway of the NFS cluster {self._exports.name} exports {export.pseudo}. Look at "ceph orch ps": do its '
            'gateways run, and do they watch its configuration in the pool?'
        )
        if not absent_is_well:
            raise Away(why)
        LOG.error(why)

    def _follow(self, name: str, known: ClusterExport, *, closes: bool) -> bool:
        """Wait until every gateway that has the export has put its change in force. If that closes it to somebody, gateways
        that do not follow lose it. Returns false if it was removed for that.
        """
        if not self._sessions.are_any(known.user):
            if not closes:
                self._await_served(known)
            return True  # a gateway that starts reads the export as it is now
        late = self._late(name, known)
        if late:
            LOG.error(
                'Share %s: gateways of the NFS cluster %s do not follow changes, and %s. Restart those on %s',
                name,
                self._exports.name,
                'lose the share' if closes else 'may not admit all clients',
                ', '.join(sorted({session.machine for session in late})),
            )
        if not closes:
            return True
        if late:
            self._exports.remove(known.pseudo)  # first of all, with its key
        self._sessions.end(
            [*late, *(session for session in self._sessions.of(known.user) if session.is_stale)]
        )
        if late:
            self._let_go(known.user)
        return not late

    def _late(self, name: str, export: ClusterExport) -> list[Session]:
        """Return the sessions for the export of gateways that have not followed in time. Those that are stale are of gateways
        that have ended, most likely.
        """
        pseudo = self._witness(name)
        self._exports.remove(pseudo)  # of a process that was killed
        witness = self._exports.create(pseudo, export.path, ())
        late: list[Session] = []

        def followed() -> bool:
            served = [session for session in self._sessions.of(export.user) if not session.is_stale]
            late[:] = _late(served, self._sessions.of(witness.user))
            return not late

        try:
            until(followed, _FOLLOW, _PAUSE)
        finally:
            self._exports.remove(pseudo)
        return late

    @staticmethod
    def _witness(name: str) -> str:
        return f'{_WITNESSES}/{name}'

    def _let_go(self, user: str) -> bool:
        """Wait until no gateway has a session of the id, which is deleted, and end those that stay. Returns if none did."""
        gone = until(lambda: not self._sessions.are_any(user), _LET_GO, _PAUSE)
        if not gone:
            self._sessions.evict(user)
        return gone


def _late(sessions: Sequence[Session], followers: Sequence[Session]) -> list[Session]:
    """Return the sessions of machines that have more of them than of the followers. Each gateway has one of each, perhaps with
    several metadata servers; those of one machine cannot be told apart.
    """
    behind = _counted(sessions) - _counted(followers)
    return [session for session in sessions if session.machine in behind]


def _counted(sessions: Iterable[Session]) -> Counter[str]:
    return Counter({session.number: session.machine for session in sessions}.values())


def _closes(before: Sequence[Client], after: Sequence[Client]) -> bool:
    """Say whether a client may lose something: by a rule that is gone, or by a new rule ``ro`` for part of its network."""
    added = set(after) - set(before)
    return not set(before) <= set(after) or any(level != 'rw' for _, level in added)
