# SPDX-License-Identifier: Apache-2.0
"""Shares, snapshots and access rules in a transient status, with and without the operation that will end it."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from manila_lite import errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import backends
from manila_lite.db.doctor import shares as share_findings
from manila_lite.db.queries import operations, shares
from manila_lite.db.queries import share_migration as share_migration_queries
from manila_lite.doctor import access, recovery, recovery_table, share_servers
from manila_lite.doctor.finding import Finding, Mend, RepairContext, one_each, outlook
from manila_lite.operation_data.ensure import EnsureShares
from manila_lite.workflow import share_migration as share_migration_workflow


def find_shares(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield shares in a transient status, and shares whose rules count as being applied without an operation for it."""
    resource_type = states.SHARE.resource_type
    yield from _all(
        repair,
        resource_type,
        share_findings.list_shares(conn),
        lambda row: functools.partial(recovery.mend_status, resource_type=resource_type, resource_id=row.id),
    )
    for row in share_findings.list_shares_without_rule_operation(conn):
        yield Finding(
            resource_type,
            row.id,
            f'rules {row.access_rules_status}',
            'no access rule is on its way',
            wrong=True,
            about=row.host or '',
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=functools.partial(access.mend_rules, share_id=row.id),
        )


def find_secondary_instances(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield second instances of shares: the targets of migrations under way, and instances left over."""
    for row in share_findings.list_second_instances(conn):
        mend: Mend | None = functools.partial(_release, instance_id=row.id)
        why = f'of share {row.share_id}: nothing will end this'
        if row.operation_id is not None:
            why, mend = (
                f'of share {row.share_id}: see operation {row.operation_id} ({row.operation_kind})',
                None,
            )
        elif row.share_state == 'error' and row.task_state == states.Migration.ERROR:
            why, mend = f'of share {row.share_id}, whose cut-over failed and can be tried again', None
        yield Finding(
            'share instance',
            row.id,
            row.state,
            why,
            wrong=mend is not None or row.operation_state == 'parked',
            about=row.host or '',
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=mend,
        )


def _release(conn: Connection, repair: RepairContext, instance_id: str) -> str | None:
    """Have the backend delete its part of a second instance."""
    for row in shares.list_second_instances(conn, instance_id=instance_id):
        verb = next((verb for verb in ('receive', 'delete') if states.SHARE[verb].during == row.status), None)
        if verb:
            transitions.fail(conn, states.SHARE, verb, instance_id)
        for now in shares.list_second_instances(conn, instance_id=instance_id):
            try:
                share_migration_workflow.begin_release(conn, repair.owner(now), now)
            except errors.WrongState:
                return None
            return f'{share_migration_queries.RELEASE} was begun'
    return None


def find_not_served(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield shares that their backend could not serve when they were last ensured."""
    for op in backends.list_last_ensures(conn):
        data = recovery_table.read_data(op, EnsureShares)
        if data is None:
            continue
        left = data.left if op.state == operations.FAILED else ()
        for row in backends.list_served(conn, op.host, sorted({*left, *data.broken})):
            yield Finding(
                states.SHARE.resource_type,
                row.id,
                'not served',
                f'see operation {op.id} ({op.kind})',
                wrong=True,
                about=row.host,
                project_id=row.project_id,
                age=repair.age(op.finished_at),
                error=op.error,
                mend=functools.partial(share_servers.serve_again, host=op.host),
            )


def find_mount_options(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield shares whose export locations say another port, or other mount options, than their backend reports."""
    reported = backends.list_reported_options(conn)
    for row in backends.list_mount_options(conn, [host for host, options in reported.items() if options]):
        needed = reported.get(row.host, {}).get(row.share_proto, '')
        if row.host in reported and row.options != needed:
            yield Finding(
                states.SHARE.resource_type,
                row.id,
                'mount options',
                f'its export locations say {row.options or "none"}, and its backend serves with {needed or "none"}',
                wrong=True,
                about=row.host,
                project_id=row.project_id,
                mend=functools.partial(share_servers.serve_again, host=row.host.partition('#')[0]),
            )


def find_snapshots(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield snapshots in a transient status."""
    resource_type = states.SNAPSHOT.resource_type
    yield from _all(
        repair,
        resource_type,
        share_findings.list_snapshots(conn),
        lambda row: functools.partial(recovery.mend_status, resource_type=resource_type, resource_id=row.id),
    )


def find_rules(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield access rules in a transient state."""
    yield from _all(
        repair,
        states.ACCESS.resource_name,
        share_findings.list_rules(conn),
        lambda row: functools.partial(access.mend_rules, share_id=row.share_id),
    )


def _all(
    repair: RepairContext, resource_name: str, rows: Iterable[Row[Any]], mend: Callable[[Row[Any]], Mend]
) -> Iterator[Finding]:
    for row in one_each(rows):
        yield Finding(
            resource_name,
            row.id,
            row.state,
            *outlook(row),
            about=row.host or '',
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=None if row.operation_id else mend(row),
        )
