# SPDX-License-Identifier: Apache-2.0
"""Access rules."""

import dataclasses
import functools
import ipaddress
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import context, states, values
from manila_lite.db import models
from manila_lite.db.core import key_values, paging, row_locks
from manila_lite.db.core.prepared import Among, Query, one_of
from manila_lite.db.core.rows import found, updater

_rules = models.access_rules
_shares = models.shares
_instances = models.share_instances
_backups = models.share_backups

#: The operation that tells the backend a share's rules.
SYNC = 'access.sync'
#: The status of a share instance that a share is being copied to, and of a share that is copied with its share server.
_MOVING, _LEAVING = (states.SHARE[verb].during for verb in ('receive', 'server_migrate'))
#: The access level that a copy needs, by the status of its backup or instance.
_LEVELS = {
    states.SHARE_BACKUP['create'].during: 'ro',
    states.SHARE_BACKUP['restore'].during: 'rw',
    _MOVING: 'ro',
    _LEAVING: 'ro',
}
#: The copying client of a share that has left, or stayed with, its share server: nobody. The backend does not know yet.
_NOBODY = ''
#: States of rules that are in force, or will be as soon as the backend was told.
_GRANTED = ('active', 'queued_to_apply', 'applying', 'queued_to_update', 'updating')
#: States of rules that an operation of the backend has to end.
_PENDING = ('queued_to_apply', 'applying', 'queued_to_update', 'updating', 'queued_to_deny', 'denying')


def unique_key(share_id: str) -> str:
    """Return the open key of the operation that tells the backend the share's rules."""
    return f'access:{share_id}'


def lock(conn: Connection, share_id: str) -> None:
    """Lock the share's rules until the transaction ends. To be called before anything is read.

    SQLite has no row locks and needs none: its writers queue up from their first statement on.
    """
    conn.execute(sa.select(_instances.c.id).where(_instances.c.share_id == share_id).with_for_update())
    row_locks.certify(conn, _instances, _instances.c.share_id == share_id)


def get(conn: Connection, ctx: context.RequestContext, rule_id: str) -> Row[Any]:
    """Return a rule of a share of the caller's project (of any, for an administrator).

    :raises errors.NotFound: there is none.
    """
    row = _one(everybody=bool(ctx.is_admin)).first(conn, {'rule_id': rule_id, 'project': ctx.project_id})
    return found(row, 'access rule', rule_id)


@functools.cache
def _one(*, everybody: bool) -> Query:
    query = sa.select(_rules).where(_rules.c.id == sa.bindparam('rule_id'))
    if not everybody:
        query = query.join(_shares, _shares.c.id == _rules.c.share_id).where(
            _shares.c.project_id == sa.bindparam('project'), ~_shares.c.deletion_deferred
        )
    return Query(query)


_SELECT = sa.select(_rules).order_by(_rules.c.created_at, _rules.c.id)


def of_share(conn: Connection, share_id: str, filters: dict[str, Any] | None = None) -> list[Row[Any]]:
    """Return a share's rules, oldest first; filters by access_type, access_to, access_level, metadata."""
    filters = filters or {}
    query = _SELECT.where(
        _rules.c.share_id == share_id,
        *paging.conditions(filters, _rules.c, ('access_type', 'access_to', 'access_level')),
        *key_values.matching(models.access_rule_metadata, _rules.c.id, filters.get('metadata') or {}),
    )
    return list(conn.execute(query))


def clients_of_type(conn: Connection, share_id: str, access_type: str) -> list[str]:
    """Return the ``access_to`` of the share's rules of a type."""
    return list(
        conn.execute(
            sa.select(_rules.c.access_to).where(
                _rules.c.share_id == share_id, _rules.c.access_type == access_type
            )
        ).scalars()
    )


def count(conn: Connection, share_id: str) -> int:
    """Return how many rules the share has, including those that are being denied."""
    return conn.execute(sa.select(sa.func.count()).where(_rules.c.share_id == share_id)).scalar_one()


def granted_rules(
    conn: Connection, share_ids: Iterable[str], *, cast: bool = True
) -> dict[str, list[values.AccessRule]]:
    """Return the rules that shall be in force, by share id, as drivers see them; with ``cast``, read-only where cast so."""
    rules: dict[str, list[values.AccessRule]] = defaultdict(list)
    for row in _GRANTED_OF.all(conn, tuple(share_ids)):
        rule = as_driver_rule(row)
        rules[row.share_id].append(
            dataclasses.replace(rule, level='ro') if cast and row.cast_rules_to_readonly else rule
        )
    return rules


_GRANTED_OF = Among(
    sa.select(
        *(_rules.c[name] for name in ('id', 'share_id', 'access_type', 'access_to', 'access_level')),
        _instances.c.cast_rules_to_readonly,
    )
    .join(_instances, sa.and_(_instances.c.share_id == _rules.c.share_id, ~_instances.c.is_secondary))
    .where(one_of(_rules.c.state, _GRANTED))
    .order_by(_rules.c.created_at, _rules.c.id),
    _rules.c.share_id,
    named=True,
)


class CopyClient(NamedTuple):
    """The client that copies, or copied, a share to or from a backup, or to the instance of a migration. ``rule`` admits it as
    long as it copies. ``backup_id``: the id of the backup or instance. A share that is copied with its share server keeps its
    instance.
    """

    share_id: str
    backup_id: str
    rule: values.AccessRule | None


def copy_clients_of(conn: Connection, share_ids: Iterable[str]) -> list[CopyClient]:
    """Return the copying clients that the backends of these shares admit, or admitted and were not told to refuse yet."""
    return [
        CopyClient(row.target_share_id or row.share_id, row.id, rule)
        for row in _COPIERS_OF.all(conn, tuple(share_ids))
        for rule in _rules_of_copy_client(row)
    ]


def _rules_of_copy_client(row: Row[Any]) -> list[values.AccessRule | None]:
    """Return a rule for each address from which a copy is made, or only None if it has ended."""
    if row.status not in _LEVELS or row.copy_client == _NOBODY:
        return [None]
    return [
        values.AccessRule(f'{row.id}-{number}' if number else row.id, type_ or 'ip', to, _LEVELS[row.status])
        for number, (type_, _, to) in enumerate(
            client.rpartition('=') for client in row.copy_client.split(',')
        )
    ]


def copy_client_text(rule_type: str, to: str) -> str:
    """Return a client as the rows of its copies name it: an address as it is, others with the type of their rule."""
    return to if rule_type == 'ip' else f'{rule_type}={to}'


def key_of_copy_client(conn: Connection, instance_id: str) -> str | None:
    """Return the key, as stored, that a backend gave to the host that copies its share to this instance; or None."""
    key: str | None = conn.execute(
        sa.select(_instances.c.copy_client_key).where(_instances.c.id == instance_id)
    ).scalar()
    return key


def set_key_of_copy_client(conn: Connection, instance_id: str, key: str) -> None:
    """Store such a key, encrypted, as long as the host copies."""
    conn.execute(
        _instances.update()
        .where(
            _instances.c.id == instance_id,
            _instances.c.copy_client.is_not(None),
            _instances.c.status.in_((_MOVING, _LEAVING)),
        )
        .values(copy_client_key=key)
    )


def shut_out_copy_clients(conn: Connection, server_id: str) -> None:
    """Have the backend admit the host no more that copies the shares of the server, as soon as it is told their rules."""
    conn.execute(
        _instances.update()
        .where(_instances.c.share_server_id == server_id, _instances.c.copy_client.is_not(None))
        .values(copy_client=_NOBODY, copy_client_key=None)
    )


def clear_copy_clients(conn: Connection, instance_ids: Iterable[str]) -> None:
    """Record that the backend was told so, of these share instances."""
    conn.execute(
        _instances.update()
        .where(_instances.c.id.in_(tuple(instance_ids)), _instances.c.copy_client == _NOBODY)
        .values(copy_client=None)
    )


def list_still_admitting(conn: Connection, host: str) -> dict[str, str]:
    """Return the shares of a backend that was not told so yet, each with its instance."""
    return {
        row.share_id: row.id
        for row in conn.execute(
            sa.select(_instances.c.share_id, _instances.c.id).where(
                _instances.c.copy_client == _NOBODY,
                ~_instances.c.is_secondary,
                _instances.c.host.startswith(f'{host}#', autoescape=True),
            )
        )
    }


def _copied(names: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a backup is copied from, or to, one of these shares."""
    target = _backups.c.target_share_id
    return sa.or_(target.in_(names), sa.and_(target.is_(None), _backups.c.share_id.in_(names)))


class _Both:
    """The copying clients of backups and those of migrations, each with its own condition on the share."""

    of_backups = sa.select(
        *(_backups.c[name] for name in ('id', 'share_id', 'target_share_id', 'copy_client', 'status'))
    ).where(_backups.c.copy_client.is_not(None))
    of_moves = sa.select(
        _instances.c.id, _instances.c.share_id, sa.null(), _instances.c.copy_client, _instances.c.status
    ).where(
        _instances.c.copy_client.is_not(None),
        sa.or_(~_instances.c.is_secondary, _instances.c.status == sa.literal(_MOVING)),
    )

    def where(self, names: list[Any]) -> sa.CompoundSelect[Any]:
        """Return the statement for the shares of these names."""
        return sa.union_all(
            self.of_backups.where(_copied(names)), self.of_moves.where(_instances.c.share_id.in_(names))
        )


_COPIERS_OF = Among(_Both(), list, named=True)


def rules_in_force(
    conn: Connection, share_ids: Iterable[str], copy_clients: Iterable[CopyClient] | None = None
) -> dict[str, list[values.AccessRule]]:
    """Return the rules that the backends are to be told, by share id: those that are granted, and one for each copy to
    or from a backup that a manager makes as a client. Such a rule has the id of the backup.

    ``copy_clients``: the copying clients of these shares, if the caller has them already.
    """
    ids = tuple(share_ids)
    rules = granted_rules(conn, ids)
    for share_id, rule in (
        (one.share_id, one.rule)
        for one in (copy_clients_of(conn, ids) if copy_clients is None else copy_clients)
    ):
        if rule is None:
            continue
        rules[share_id] = joined(rules[share_id], rule)
    return rules


def joined(
    rules: Iterable[values.AccessRule], rule: values.AccessRule, most: str = 'rw'
) -> list[values.AccessRule]:
    """Return the rules with another one. Of rules for one client there is one, as its user wrote it: drivers need not decide
    which counts. ``most``: the highest level.
    """
    others: list[values.AccessRule] = []
    same: list[values.AccessRule] = []
    for one in rules:
        (same if _is_of(one, rule) else others).append(one)
    level = most if 'rw' in (rule.level, *(one.level for one in same)) else 'ro'
    return [*others, dataclasses.replace(same[0] if same else rule, level=level)]


def _is_of(rule: values.AccessRule, other: values.AccessRule) -> bool:
    """Say whether a rule is for the one client of the other, which may be written in another way."""
    if rule.type != other.type or rule.type != 'ip':
        return (rule.type, rule.to.casefold()) == (other.type, other.to.casefold())
    return ipaddress.ip_network(rule.to, strict=False) == ipaddress.ip_network(other.to)


def as_driver_rule(row: Row[Any]) -> values.AccessRule:
    """Return a rule as drivers see it."""
    return values.AccessRule(row.id, row.access_type, row.access_to, row.access_level)


def pending_rules(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return the rules of which the backend was not told yet, or was being told when the process died."""
    return list(
        conn.execute(sa.select(_rules).where(_rules.c.share_id == share_id, _rules.c.state.in_(_PENDING)))
    )


def shares_with_pending_rules(conn: Connection, share_ids: Iterable[str]) -> set[str]:
    """Return which of the shares have rules as in ``pending_rules``, or an operation on their rules that has not ended."""
    ids, operations = tuple(share_ids), models.operations
    with_rules = sa.select(_rules.c.share_id).where(_rules.c.share_id.in_(ids), _rules.c.state.in_(_PENDING))
    with_work = sa.select(operations.c.resource_id).where(
        operations.c.kind == SYNC,
        operations.c.resource_id.in_(ids),
        operations.c.state.in_(('open', 'parked')),
    )
    return set(conn.execute(with_rules.union(with_work)).scalars())


def rule_states(conn: Connection, share_id: str) -> set[str]:
    """Return the states that the share's rules are in."""
    return set(
        conn.execute(sa.select(_rules.c.state).where(_rules.c.share_id == share_id).distinct()).scalars()
    )


#: Set these values of the rule. Never a state.
update = updater(_rules)
