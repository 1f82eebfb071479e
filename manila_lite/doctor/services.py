# SPDX-License-Identifier: Apache-2.0
"""Services that are down, backends that report no pools, and pools whose figures are wrong."""

import functools
from collections.abc import Iterator
from typing import Any

from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import backends
from manila_lite.db.queries import ensure, migration_promises, operations, pool_reports, services
from manila_lite.doctor.finding import Finding, RepairContext

#: Reports that a backend may miss before its figures count as old.
_MISSED = 3


def find_services(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield services that are not up, and backends that are up and have no pool."""
    conf = repair.services.conf
    silent = set(pool_reports.list_backends_without_pools(conn, conf.service_down_time))
    for row in services.list_services(conn):
        up = services.is_up(row, conf.service_down_time)
        fault = services.clock_fault(row, conf.service_down_time, conf.operations.max_clock_difference)
        if fault:
            yield _service(
                repair, row, 'up' if up else 'down', f'claims no work: {fault}; set the clock', wrong=True
            )
        elif not up:
            yield _down(repair, row)
        elif row.binary == 'manila-share' and row.host in silent:
            yield _service(
                repair,
                row,
                'up',
                'its backend is not ready and reports no pool: see its log',
                wrong=(repair.age(row.created_at) or 0) > conf.capability_interval,
            )


def find_left_ensuring(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield services that are marked as ensuring their shares, without an open operation that does so."""
    for row in backends.list_services_left_ensuring(conn):
        yield Finding(
            'service',
            row.host,
            'ensuring',
            'no operation ensures its shares',
            wrong=True,
            about=row.binary,
            age=repair.age(row.updated_at),
            owner=row.lease_owner,
            mend=functools.partial(_end_ensuring, host=row.host),
        )


def _end_ensuring(conn: Connection, repair: RepairContext, host: str) -> str | None:
    known = services.set_ensuring(conn, host, False)
    if known and operations.is_open(conn, ensure.unique_key(host)):
        services.set_ensuring(conn, host, True)
        return None
    return 'it says so no more' if known else None


def _down(repair: RepairContext, row: Row[Any]) -> Finding:
    if row.stopped:
        return _service(repair, row, 'stopped', 'was stopped', wrong=False)
    why = 'no heartbeat: start it, or remove it with "manila-manage service cleanup"'
    return _service(repair, row, 'down', why, wrong=not row.disabled)


def _service(repair: RepairContext, row: Row[Any], state: str, why: str, *, wrong: bool) -> Finding:
    age = services.heartbeat_age(row)
    return Finding(
        'service',
        row.host,
        state,
        why,
        wrong,
        about=row.binary,
        age=None if age is None else max(age, 0.0),
        owner=row.lease_owner,
    )


def find_pools(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield problems that drivers report, pools that running backends do not report any more, and old figures that cannot be
    true.
    """
    conf = repair.services.conf
    old = _MISSED * conf.capability_interval
    on_their_way = migration_promises.list_all(conn)
    for row in backends.list_pools(conn):
        for problem in row.capabilities.get('problems', ()):
            yield Finding('pool', row.host, 'problem', problem, wrong=True, about=row.backend_host)
        age = repair.age(row.reported_at) or 0.0
        if age <= old:
            continue  # each report counts anew
        most = float(row.most) + on_their_way.get(row.host, 0.0)
        if not 0 <= row.claimed_gb <= most:
            yield Finding(
                'pool',
                row.host,
                f'{row.claimed_gb:g} GiB claimed',
                f'its shares come to {most:g} GiB at most',
                wrong=True,
                about=row.backend_host,
                age=age,
                mend=functools.partial(_recount, row=row),
            )
        if services.is_up(row, conf.service_down_time):
            yield Finding(
                'pool',
                row.host,
                'old figures',
                'its service is up and does not report it: see its log',
                wrong=True,
                about=row.backend_host,
                age=age,
            )


def _recount(conn: Connection, repair: RepairContext, row: Row[Any]) -> str | None:
    promised = pool_reports.promises_of_pools(conn, row.backend_host).get(row.host, pool_reports.Promised())
    if not backends.correct_promises(conn, row, promised.unseen, promised.provisioned):
        return None
    return f'{promised.unseen:g} GiB are claimed'
