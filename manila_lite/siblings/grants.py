# SPDX-License-Identifier: Apache-2.0
"""Access rules that a sibling needs: one grant per share and target, however many attachments or mounts use it.

A grant is a row. It is made in the transaction of its first user, and deleted after its last user. After a crash, the
next call goes on from the state in the share service: a rule is ours if its lock says so. A rule that others made is
used as it is, kept by a lock of our own, and never deleted.

Two processes that work on one target at once do no harm: while a grant is being released its target cannot be claimed
(unique key), and a rule is only denied by the id in a row that is being released.
"""

import contextlib
import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.db import grant_rows as rows
from manila_lite.siblings.db.grant_rows import STRENGTH, Target, stronger, table
from manila_lite.siblings.shares import Lock, Rule, Shares

__all__ = ['Grants', 'Target', 'is_in_force', 'retry_until', 'stronger', 'table']

LOG = log.getLogger(__name__)

#: Seconds until a rule is checked again: while the backend applies it, and while the share service is unavailable.
_SOON, _LATER = 0.5, 5.0

_BEING_APPLIED = frozenset({'queued_to_apply', 'applying', 'queued_to_update', 'updating', 'new'})
_BEING_DENIED = frozenset({'queued_to_deny', 'denying', 'deleted'})


class Grants:
    """The grants of one sibling, in its own database.

    ``service``: the first word of its locks' reasons, which read ``<service> <kind> <uuid> on <host>``; before the host
    there may be more. ``users(conn, grant_id)``: the levels that the rows with this grant need. ``holder(conn, grant_id)``:
    kind and id of one of these rows, for the reason.
    """

    def __init__(
        self,
        db: Any,
        grants: Any,
        shares: Shares,
        *,
        service: str,
        users: rows.Users,
        holder: Callable[[Connection, str], str | None] | None = None,
    ):
        self._db = db
        self._table = grants
        self._shares = shares
        self._service = service
        self._users = users
        self._holder = holder

    def claim(self, conn: Connection, target: Target, *, host: str, on: str) -> str:
        """Return the id of a grant for the target, at least of its level, for the row of its user.

        Part of the caller's transaction, which also writes the user's row. ``on``: kind and id of the user, for human readers.

        :raises errors.Again: the last grant for the target is just being released.
        """
        return rows.claim(
            conn,
            self._table,
            target,
            host=host,
            service=self._service,
            reason=f'{self._service} {on} on {host}',
        )

    # Wanting --------------------------------------------------------------------------------------

    def put_in_force(self, grant_id: str) -> Rule:
        """Put the grant's access rule in force, and return the rule. May be repeated at any time.

        :raises errors.Again: it is not in force yet. :raises errors.Unavailable: the share service cannot be asked.
        :raises errors.Final: it cannot be put in force; the message says why, and is stored in the grant.
        """
        grant = self._get(grant_id)
        if grant is None or grant.releasing:
            raise errors.Final('The grant was deleted, because it was unused.')
        try:
            rule = self._make(grant)
            self._must_be_active(rule)
        except errors.Final as bad:
            self._note(grant, fault=str(bad))
            raise
        if grant.fault:
            self._note(grant, fault=None)
        return rule

    def renew(self, grant_id: str) -> bool:
        """Make the access rule of a grant in use again if it is lost. Say whether it was.

        :raises errors.Unavailable: the share service cannot be asked.
        :raises errors.Final: as ``put_in_force``.
        """
        before = self._get(grant_id)
        if before is None or before.releasing:
            return False
        with contextlib.suppress(errors.Again):
            self.put_in_force(grant_id)
        after = self._get(grant_id)
        return after is not None and before.access_id != after.access_id

    def _get(self, grant_id: str) -> Any:
        with self._db.reader() as conn:
            return rows.get(conn, self._table, grant_id)

    def _note(self, grant: Any, **values: Any) -> bool:
        with self._db.writer() as conn:
            return rows.update(conn, self._table, grant.id, releasing=grant.releasing, **values)

    def _make(self, grant: Any) -> Rule:
        """Return the rule, made or found, with the grant's level."""
        with _refusals():
            rule = self._find(grant) or self._shares.allow(
                grant.share_id, grant.access_type, grant.access_to, grant.level, grant.reason
            )
        if rule.state in _BEING_DENIED:
            raise errors.Again(_SOON, f'Access rule {rule.id} is being removed.')
        if rule.id != grant.access_id:
            grant = self._adopt(grant, rule)
        return rule if STRENGTH[rule.level] >= STRENGTH[grant.level] else self._upgrade(grant, rule)

    def _find(self, grant: Any) -> Rule | None:
        rules = self._shares.rules(grant.share_id)
        for rule in rules:
            if rule.id == grant.access_id or (rule.kind == grant.access_type and rule.to == grant.access_to):
                return rule
        if any(rule.to is None for rule in rules):
            raise errors.Final(
                f'Share {grant.share_id} has access rules with clients that are hidden from this service; '
                'give it the role "service" in the share service.'
            )
        return None

    def _adopt(self, grant: Any, rule: Rule) -> Any:
        """Store in the row which rule belongs to it, and whether we may delete the rule. Return the row."""
        locks = self._shares.locks(resource_id=rule.id)
        owned = any(self._is_ours(lock) and lock.action == 'show' for lock in locks)
        lock_id = None
        if not owned:
            if STRENGTH[rule.level] < STRENGTH[grant.level]:
                raise self._too_weak(grant, rule)
            lock = next((lock for lock in locks if self._is_ours(lock)), None)
            lock_id = (lock or self._shares.lock(rule.id, grant.reason)).id
        if not self._note(grant, access_id=rule.id, owned=owned, lock_id=lock_id):
            raise errors.Again(
                _SOON, 'The grant is being released.'
            )  # the next try finds the new rule by its lock
        return self._get(grant.id)

    @staticmethod
    def _too_weak(grant: Any, rule: Rule) -> errors.Final:
        return errors.Final(
            f'There is an access rule for {rule.to} of another user with the level {rule.level}; '
            f'{grant.level} is needed. Deny it, or give it that level.'
        )

    def _is_ours(self, lock: Lock) -> bool:
        return lock.by != 'user' and lock.reason.startswith(f'{self._service} ')

    def _upgrade(self, grant: Any, rule: Rule) -> Rule:
        """Raise the rule to the level of the grant.

        :raises errors.Again: the change is under way. A rule that the share service cannot change is denied, to be made anew.
        """
        if not grant.owned:
            raise self._too_weak(grant, rule)
        if rule.state in _BEING_APPLIED:
            raise errors.Again(_SOON, f'Access rule {rule.id} is {rule.state}.')
        with _refusals():
            if not self._shares.change_level(rule.id, grant.level):
                self._shares.deny(grant.share_id, rule.id)
        raise errors.Again(_SOON, f'Access rule {rule.id} is getting the level {grant.level}.')

    def _must_be_active(self, rule: Rule) -> None:
        if rule.state == 'error':
            raise errors.Final(f'The share service could not apply access rule {rule.id}.')
        if rule.state != 'active':
            raise errors.Again(_SOON, f'Access rule {rule.id} is {rule.state}.')

    # Releasing ------------------------------------------------------------------------------------

    def release(self, grant_id: str) -> None:
        """Delete the grant, and its access rule if that is ours, unless the grant is in use. May be repeated at any time.

        :raises errors.Again: the rule is still being deleted. :raises errors.Unavailable: the share service cannot be asked.
        """
        with self._db.writer() as conn:
            grant = rows.begin_release(conn, self._table, grant_id, self._users)
        if grant is None:
            self.rename(grant_id)
            return
        try:
            self._remove_rule(grant)
        except (errors.Invalid, errors.Forbidden, errors.Conflict) as refused:
            self._note(grant, fault=str(refused))
            raise errors.Again(_LATER, str(refused)) from None
        with self._db.writer() as conn:
            rows.delete(conn, self._table, grant_id)

    def _remove_rule(self, grant: Any) -> None:
        rule = self._rule_of(grant)
        if rule is None:
            return
        locks = self._shares.locks(resource_id=rule.id)
        if any(self._is_ours(lock) and lock.action == 'show' for lock in locks):
            self._deny(grant, rule, locks)
        else:
            for lock in locks:
                if self._is_ours(lock):
                    self._shares.unlock(lock.id)

    def _rule_of(self, grant: Any) -> Rule | None:
        """Return the rule to release, which the row names; None if there is none."""
        try:
            rules = self._shares.rules(grant.share_id)
        except errors.NotFound:
            return None  # deleted with the share
        if grant.access_id:
            return next((rule for rule in rules if rule.id == grant.access_id), None)
        rule = next(
            (rule for rule in rules if rule.kind == grant.access_type and rule.to == grant.access_to), None
        )
        if rule is not None and not self._note(grant, access_id=rule.id):
            raise errors.Again(_SOON, 'Another process released the grant.')
        return rule

    def _deny(self, grant: Any, rule: Rule, locks: Sequence[Lock]) -> None:
        if any(lock.action == 'delete' and not self._is_ours(lock) for lock in locks):
            LOG.warning('Access rule %s of share %s stays: somebody else locked it', rule.id, grant.share_id)
            return
        if rule.state not in _BEING_DENIED:
            self._shares.deny(grant.share_id, rule.id)
        raise errors.Again(_SOON, f'Access rule {rule.id} is being taken away.')

    def rename(self, grant_id: str) -> None:
        """Have the locks of a grant in use name one of its present users, if they name another. Never fails; the next
        call does it then.
        """
        grant = self._get(grant_id)
        if self._holder is None or grant is None or grant.releasing or not grant.access_id:
            return
        with self._db.reader() as conn:
            holder = self._holder(conn, grant_id)
        reason = f'{self._service} {holder} on {grant.host}'
        if holder is None or _user_in(reason) == _user_in(grant.reason):
            return
        try:
            for lock in self._shares.locks(resource_id=grant.access_id):
                if self._is_ours(lock):
                    self._shares.change_reason(lock.id, reason)
            self._note(grant, reason=reason)
        except errors.ManilaLiteError as bad:
            LOG.warning('The locks of access rule %s still name another user of it: %s', grant.access_id, bad)

    # Reconciling ----------------------------------------------------------------------------------

    def reconcile(self, host: str | None = None) -> int:
        """Release grants of the host (None: of any) without users, and rules of ours without a grant.

        Never fails; the next run does the rest. Returns how many are released or being released.
        """
        try:
            with self._db.reader() as conn:
                known = rows.unused(conn, self._table, host, self._users)
            return sum(map(self._try, [*known, *self._rules_without_grant(host)]))
        except errors.ManilaLiteError as bad:
            LOG.warning('Access rules could not be compared with the share service: %s', bad)
            return 0

    def _try(self, grant_id: str) -> bool:
        try:
            self.release(grant_id)
        except errors.Again:
            pass
        except errors.ManilaLiteError as bad:
            LOG.warning('Grant %s cannot be released yet: %s', grant_id, bad)
            return False
        return True

    def _rules_without_grant(self, host: str | None) -> Iterator[str]:
        """Insert a grant that is being released for each rule of ours without a grant; yield the grants' ids."""
        locks = self._shares.locks(resource_action='show', **{'lock_reason~': f'{self._service} '})
        suspects = {
            lock.resource_id: lock
            for lock in locks
            if self._is_ours(lock) and (host is None or lock.reason.endswith(f' on {host}'))
        }
        with self._db.reader() as conn:
            known = rows.known_rules(conn, self._table, suspects)
        for access_id in suspects.keys() - known:
            share_id = self._shares.share_of(access_id)
            rule = (
                next((rule for rule in self._shares.rules(share_id) if rule.id == access_id), None)
                if share_id
                else None
            )
            if share_id and rule and rule.to and rule.state not in _BEING_DENIED:
                yield from self._add_released(suspects[access_id].reason, rule, host)

    def _add_released(self, reason: str, rule: Rule, host: str | None) -> Iterator[str]:
        target = Target(rule.share_id, rule.kind, rule.to or '', rule.level)
        with self._db.writer() as conn:
            grant_id = rows.insert_released(
                conn,
                self._table,
                target,
                access_id=rule.id,
                service=self._service,
                host=host or reason.rpartition(' on ')[2],
                reason=reason,
            )
        if grant_id:
            LOG.warning(
                'Access rule %s of share %s is unused, and this service created it: it is deleted',
                rule.id,
                rule.share_id,
            )
            yield grant_id


def is_in_force(rule: Rule | None, level: str) -> bool:
    """Say whether an access rule serves a client that needs this level, or is just being applied; None: it is gone."""
    return (
        rule is not None
        and rule.state not in _BEING_DENIED
        and rule.state != 'error'
        and STRENGTH[rule.level] >= STRENGTH[level]
    )


def _user_in(reason: str) -> list[str]:
    """Return service, kind and id of a reason."""
    return reason.split(' ')[:3]


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn permanent refusals of the share service into ``errors.Final``, and temporary ones into ``errors.Again``."""
    try:
        yield
    except errors.NotFound as gone:
        raise errors.Final(str(gone) or 'The share is gone.') from None
    except errors.Forbidden as refused:
        raise errors.Final(f'The share service refuses to give access to this service: {refused}') from None
    except (errors.Invalid, errors.Conflict) as refused:
        if refused.code == errors.Invalid.code:  # a value that it never accepts
            raise errors.Final(str(refused)) from None
        raise errors.Again(_SOON * 2, str(refused)) from None


@contextlib.contextmanager
def retry_until(since: datetime.datetime, seconds: float | None) -> Iterator[None]:
    """Retry a step that waits for the share service, until ``seconds`` (None: for ever) after ``since``, which is in
    UTC; then fail for good.
    """

    def is_over() -> bool:
        return seconds is not None and (timeutils.utcnow() - since).total_seconds() > seconds

    try:
        yield
    except errors.Unavailable as away:
        if is_over():
            raise errors.Final(str(away)) from away
        raise errors.Again(_LATER, str(away)) from away
    except errors.Again as waiting:
        if is_over():
            raise errors.Final(f'It took more than {seconds:g} s: {waiting}') from waiting
        raise
