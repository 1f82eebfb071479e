# SPDX-License-Identifier: Apache-2.0
"""Share servers, their networks and their addresses, where no operation ends their status."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

from manila_lite import context, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import operations as operation_findings
from manila_lite.db.doctor import share_servers as rows
from manila_lite.db.queries import ensure as ensure_queries
from manila_lite.db.queries import (
    messages,
    operations,
    services,
    share_network_subnets,
    share_networks,
    share_server_queries,
    unused_share_servers,
)
from manila_lite.db.queries import share_server_migration as share_server_migration_queries
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.doctor.finding import Finding, Mend, RepairContext, one_each, outlook
from manila_lite.doctor.recovery_table import read_data
from manila_lite.engine.begin import begin
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.ensure import START
from manila_lite.operation_data.share_servers import AddSubnet
from manila_lite.workflow import ensure as ensure_workflow
from manila_lite.workflow import share_network_subnets as subnets_workflow
from manila_lite.workflow import share_server_migration as share_server_migration_workflow

_SERVER, _NETWORK = states.SHARE_SERVER.resource_name, states.SHARE_NETWORK.resource_name


@dataclasses.dataclass(frozen=True)
class Redo:
    """How to end a transient status of a server: the verb that the status belongs to, and the operations that may end it.

    ``safe``: the operation (its row) may be repeated on that server (its row). A status that was set
    by hand proves nothing: only the last operation of the server is repeated.
    """

    verb: str
    kinds: tuple[str, ...]
    action: Action
    safe: Callable[[Connection, Any, Any], bool] = lambda conn, row, last: True


def _unused(conn: Connection, row: Row[Any], last: Row[Any]) -> bool:
    return not unused_share_servers.is_used(conn, row.id)


def _without_exports(conn: Connection, row: Row[Any], last: Row[Any]) -> bool:
    return not share_server_queries.shares_on(conn, row.id)


def _in_subnet(conn: Connection, row: Row[Any], last: Row[Any]) -> bool:
    """Say whether the server is still in the subnet that the operation is to add, if the operation is about a subnet."""
    if last.kind != subnets_workflow.ADD:
        return True
    data = read_data(last, AddSubnet)
    mapped = {subnet.id for subnet in share_server_queries.subnets_of(conn, (row.id,)).get(row.id, [])}
    return data is not None and data.subnet_id in mapped


REDO: dict[str, Redo] = {
    'creating': Redo('create', ('share_server.create',), Action.CREATE, _without_exports),
    'network_change': Redo(
        'change', (subnets_workflow.ADD, 'share_server.update_security_service'), Action.UPDATE, _in_subnet
    ),
    'deleting': Redo(
        'delete',
        ('share_server.delete', share_server_migration_queries.RELEASE, share_server_migration_queries.CLEAR),
        Action.DELETE,
        _unused,
    ),
    'manage_starting': Redo('manage', ('share_server.manage',), Action.MANAGE_SERVER, _without_exports),
    'unmanage_starting': Redo('unmanage', ('share_server.unmanage',), Action.UNMANAGE_SERVER, _unused),
    # Half a migration is not resumed: the source serves as before, whatever was copied.
    'server_migrating': Redo('migrate', (), Action.MIGRATE_SERVER),
    'server_migrating_to': Redo('receive', (), Action.MIGRATE_SERVER),
}


# Servers ------------------------------------------------------------------------------------------


def find_servers(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield share servers in a transient status, each with the operation that ends it, if there is one."""
    for row in one_each(rows.list_servers(conn)):
        left = (row.lease_expires_at - repair.now).total_seconds() if row.lease_expires_at else None
        yield Finding(
            _SERVER,
            row.id,
            row.state,
            *outlook(row),
            about=row.host,
            project_id=row.project_id,
            age=repair.age(row.since),
            attempts=row.attempts,
            owner=row.owner,
            lease_left=left,
            error=row.error,
            mend=None if row.operation_id else functools.partial(_mend_status, server_id=row.id),
        )


def find_in_error(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield share servers in error that have shares. They are served as far as possible, but get no more shares."""
    backends = {row.host for row in services.list_backends(conn)}
    for row in rows.list_in_error(conn):
        why = 'clients may still use its shares, but it gets no new ones'
        mend: Mend | None = None
        if row.operation_id:
            why = f'see its operation {row.operation_id} ({row.operation_kind})'
        elif operations.is_open(conn, ensure_queries.unique_key(row.host)):
            why += '; its backend is being ensured'
        elif row.host not in backends:
            why += '; no share manager has its backend'
        else:
            mend = functools.partial(serve_again, host=row.host)
        yield Finding(
            _SERVER,
            row.id,
            row.state,
            why,
            wrong=mend is not None or row.operation_state == 'parked',
            about=row.host,
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=mend,
        )


def serve_again(conn: Connection, repair: RepairContext, host: str) -> str | None:
    """Have the backend ensure its shares at once, and set its servers in error to active if they run.

    Do nothing while the backend is being ensured.
    """
    if operations.is_open(conn, ensure_queries.unique_key(host)):
        return None
    heal = [row.id for row in rows.list_in_error(conn) if row.host == host and not row.operation_id]
    ensure_workflow.ask_once(conn, context.admin(repair.services), host, START, heal=heal)
    more = f'; active again if they run: share servers {", ".join(heal)}' if heal else ''
    return f'{ensure_queries.KIND} was begun for {host}{more}'


def _mend_status(conn: Connection, repair: RepairContext, server_id: str) -> str | None:
    row = _take(conn, server_id)
    return _end(conn, repair, row, operation_findings.last_operation(conn, server_id)) if row else None


def replace(conn: Connection, repair: RepairContext, op: Row[Any], first: bool) -> str | None:
    """Mend the server of a parked operation that is deleted already: begin another like it, or end the server's status."""
    row = _take(conn, op.resource_id)
    return _end(conn, repair, row, op, once_more=first, begun_again=True) if row else None


def _take(conn: Connection, server_id: str) -> Row[Any] | None:
    """Return the server if it is in a transient status that no operation will end, and lock it until the commit."""
    row = rows.find_server(conn, server_id)
    if row is None or row.state not in REDO:
        return None
    share_networks.lock(conn, row.share_network_id, states.SHARE_NETWORK.statuses)
    if not transitions.lock(conn, states.SHARE_SERVER, server_id, row.state):
        return None
    row = rows.find_server(conn, server_id)
    return None if row is None or row.operation_id else row


def _end(
    conn: Connection,
    repair: RepairContext,
    row: Row[Any],
    last: Row[Any] | None,
    *,
    once_more: bool = True,
    begun_again: bool = False,
) -> str:
    """End the transient status of a server.

    :param last: the last operation of the server
    :param once_more: whether that operation may be begun again, ``begun_again`` as it is said in its data
    """
    redo, data = REDO[row.state], read_data(last, OperationData)
    if last is not None and (last.kind not in redo.kinds or last.error_code == operations.SUPERSEDED):
        last = None
    if once_more and last is not None and data is not None and redo.safe(conn, row, last):
        begin(
            conn,
            context.of_operation(last, repair.services),
            last.kind,
            'share_server',
            row.id,
            topic='share',
            host=row.host,
            data=dataclasses.replace(data, begun_again=data.begun_again or begun_again),
            mutex_key=f'server:{row.id}',
            unique_key=f'server:{row.id}',
        )
        return f'{last.kind} was begun again'
    if redo.verb == 'migrate' and share_server_migration_queries.cast_rules(conn, row.id, False):
        share_server_migration_workflow.apply_rules(conn, repair.owner(row), row.id, row.host)
    end = states.SHARE_SERVER[redo.verb].fail
    transitions.fail(conn, states.SHARE_SERVER, redo.verb, row.id)
    messages.create(
        conn,
        repair.owner(row),
        'SHARE_SERVER',
        row.id,
        redo.action,
        Detail.UNKNOWN_ERROR,
        'It was interrupted and could not be taken up again.',
    )
    return f'it cannot be taken up again: {end}'


# Networks and subnets -----------------------------------------------------------------------------


def find_networks(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield networks in transition, and networks whose owner deleted them and that wait until their servers are gone."""
    for row in rows.list_networks(conn):
        if row.deletion_deferred:
            waits, state, mend = row.servers, 'going', _sweep
            why = (
                f'goes with the last of its {errors.count(waits, "share server")}'
                if waits
                else 'its share servers are gone'
            )
        else:
            waits, state, mend = row.changing, row.state, _settle
            why = f'{waits} of its share servers change' if waits else 'none of its share servers changes'
        yield Finding(
            _NETWORK,
            row.id,
            state,
            why,
            wrong=not waits,
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=None if waits else functools.partial(mend, network_id=row.id),
        )


def _settle(conn: Connection, repair: RepairContext, network_id: str) -> str | None:
    in_change = share_networks.lock(conn, network_id, ('network_change',))
    if not in_change or share_server_queries.is_any_changing(conn, network_id):
        return None
    transitions.finish(conn, states.SHARE_NETWORK, 'change', network_id)
    return 'is active again'


def _sweep(conn: Connection, repair: RepairContext, network_id: str) -> str | None:
    return 'is gone' if share_networks.delete_if_without_servers(conn, network_id) else None


def find_subnets(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield subnets in which a server has no address: they are being added, or the operation was lost."""
    for row in rows.list_subnets_without_address(conn):
        idle = row.operation_id is None
        why = (
            f'share server {row.server_id} has no address in it'
            if idle
            else f'share server {row.server_id} gets its addresses by operation {row.operation_id} ({row.operation_kind})'
        )
        mendable = idle and (row.server_status, row.network_status) == ('active', 'active')
        yield Finding(
            'share network subnet',
            row.id,
            'without address',
            why,
            wrong=idle,
            about=row.host,
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=functools.partial(_complete, row=row) if mendable else None,
        )


def find_lacking(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield subnets that a server is not in and should be. One with an error that no server is in is its owner's to decide."""
    for row in share_network_subnets.list_lacking(conn):
        if not row.is_mapped:
            wrong = bool(row.is_held or not row.error)
            decision = '' if wrong else ': its owner may add it again or delete it'
            yield Finding(
                'share network subnet',
                row.id,
                'incomplete',
                f'share server {row.server_id} is not in it{decision}',
                wrong=wrong,
                about=row.host,
                project_id=row.project_id,
                error=row.error,
                age=repair.age(row.updated_at or row.created_at),
                mend=functools.partial(_complete, row=row) if wrong else None,
            )


def _complete(conn: Connection, repair: RepairContext, row: Row[Any]) -> str | None:
    """Give the server its addresses in a subnet (the row of both), as if the subnet were added now."""
    lacking = share_network_subnets.list_lacking(conn, server_id=row.server_id, subnet_id=row.id)
    if not lacking or subnets_workflow.complete(conn, context.admin(repair.services), lacking[0]) is None:
        return None
    return f'{subnets_workflow.ADD} was begun for share server {row.server_id}'


# Addresses, and servers that backends hold --------------------------------------------------------


def find_addresses(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield addresses in subnets that their server is not in, and for which no operation is open."""
    for row in rows.list_leaked_addresses(conn):
        yield Finding(
            'address',
            row.id,
            row.ip_address,
            f'share server {row.share_server_id} is not in its subnet {row.share_network_subnet_id}: to delete the '
            'server frees it',
            wrong=True,
            about=row.host,
            project_id=row.project_id,
            age=repair.age(row.since),
        )


def find_strays(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield share servers that a backend reports and that have no row."""
    for row in rows.list_unknown_servers(conn):
        for server_id in row.server_ids:
            yield Finding(
                _SERVER,
                server_id,
                'unknown',
                'its backend holds it, and there is no record of it: delete it there',
                wrong=True,
                about=row.host,
                age=repair.age(row.reported_at),
            )
