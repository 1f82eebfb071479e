# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server by this host, the destination's, between backends of any drivers: it copies share by share.

The target is a new server of the destination's driver, with addresses of its own until the cut-over. The shares keep their
ids, as in a move by a driver. The life cycle is that of ``migration.py``: ``calls`` is what it calls in place of a driver. The
copy of each share is in ``host_copy.py``; the operation's data has a part for each.
"""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Sequence

from manila_lite import errors, values
from manila_lite.db.queries import messages, share_server_capabilities, share_server_migration
from manila_lite.drivers.interface import CAPABILITIES
from manila_lite.engine import Work
from manila_lite.manager.plans import (
    copied_snapshots,
    cutover_addresses,
    host_assisted,
    host_copy,
    poll_backoff,
    server_progress,
)
from manila_lite.manager.plans.host_access import ShareCopy
from manila_lite.manager.plans.migration import DriverCalls
from manila_lite.manager.plans.task import as_shares
from manila_lite.operation_data.host_copies import HostCopy
from manila_lite.operation_data.migrations import MigrateServer
from manila_lite.workflow.share_server_migration import rule_levels

#: Seconds to wait for the end of one copy, since most of a round are short; and seconds after which the progress is saved.
_PATIENCE, _SAVED_EVERY = 0.5, 5.0


def calls(work: Work[MigrateServer]) -> DriverCalls:
    """Return the methods that the steps of a migration call in place of those of a driver."""
    return DriverCalls.of_host(
        work,
        check=_support,
        start=_start,
        carry_on=_carry_on,
        progress=_progress,
        complete=_complete,
        cancel=_cancel,
        catch_up=_catch_up,
    )


def _copies(work: Work[MigrateServer], migration: values.ServerMigration) -> list[ShareCopy]:
    """Return the copies of all shares, in a fixed order."""
    with work.ctx.db.reader() as conn:
        sources = as_shares(conn, share_server_migration.shares_of(conn, migration.source.id))
    return [
        ShareCopy(
            work,
            values.ShareMigration(
                source,
                migration.source_host,
                _target(migration, source),
                tuple(one for one in migration.snapshots if one.share.id == source.id),
                migration.rules.get(source.id, ()),
            ),
            work.data.copies.setdefault(source.id, HostCopy()),
            source.share_id,
            source.id,
            source.project_id,
        )
        for source in sources.values()
    ]


def _target(migration: values.ServerMigration, share: values.Share) -> values.Share:
    """Return the share as it is at the destination."""
    return dataclasses.replace(
        share,
        pool=migration.pool_of(share),
        server=migration.target,
        export_locations=(),
        share_network_id=migration.target.share_network_id,
    )


@contextlib.contextmanager
def _named(copy: ShareCopy) -> Iterator[None]:
    """Have an error for good name the share."""
    try:
        yield
    except errors.Final as bad:
        raise errors.Final(f'Share {copy.share_id}: {bad}', detail=bad.detail, code=bad.code) from bad


# Check ------------------------------------------------------------------------------------------------


def _support(work: Work[MigrateServer], migration: values.ServerMigration) -> values.MigrationSupport:
    return host_assisted.support(work, _objection(work, migration))


def _spans_subnets(work: Work[MigrateServer]) -> bool:
    with work.ctx.db.reader() as conn:
        return share_server_capabilities.reported(conn, work.service.host)[
            CAPABILITIES[values.Ability.SEVERAL_SUBNETS]
        ]


def _objection(work: Work[MigrateServer], migration: values.ServerMigration) -> str:
    """Return why this host cannot copy the shares of the server, or ''."""
    driver = work.service.driver
    if migration.source_host == work.service.host:
        return 'A host copies no share server within one backend.'
    if len(migration.target.networks) > 1 and not _spans_subnets(work):
        return 'The destination makes share servers in one subnet only.'
    copies = _copies(work, migration)
    for copy in copies:
        proto = copy.migration.source.proto
        reason = '' if proto.upper() in driver.PROTOCOLS else f'the destination does not serve {proto}.'
        if reason := reason or host_assisted.copied_objection(copy):
            return f'Share {copy.share_id}: {reason}'
    return (
        copies[0].moves.mount_objection(copies[0].migration.source) if copies else ''
    )  # they have one file server


# Phase one --------------------------------------------------------------------------------------------


def _start(work: Work[MigrateServer], migration: values.ServerMigration) -> None:
    """Set up the target, without shares."""
    work.data.details = dict(work.service.driver.setup_server(migration.target))


def _keep_up(
    work: Work[MigrateServer], migration: values.ServerMigration, copies: Sequence[ShareCopy]
) -> None:
    """Have the target run, which a reboot of its backend may have stopped, before a copy begins."""
    if not any(work.service.moves.is_running(copy.id) for copy in copies):
        _start(work, migration)


def _carry_on(work: Work[MigrateServer], migration: values.ServerMigration) -> bool:
    """Copy each share in turn, in rounds of passes. Return whether the last round was short, or there were enough."""
    seconds, until = work.data.round, time.monotonic() + _SAVED_EVERY
    copies = _copies(work, migration)
    _keep_up(work, migration, copies)
    for copy in copies:
        if copy.id in seconds:
            continue
        with _named(copy):
            run = host_copy.advance(copy, _PATIENCE)
        if run is None:
            return False
        work.service.moves.clear(copy.id)  # not all shares are to be mounted at once
        poll_backoff.begin_anew(work)
        seconds[copy.id] = run.took
        if time.monotonic() > until:
            return False
    took = sum(seconds.values())
    work.data.round = {}
    near = host_copy.is_near(work, took)
    if not near and not host_copy.are_enough(work):
        return False
    if not near:
        host_copy.warn(work, took, 'SHARE_SERVER', messages.Action.MIGRATE_SERVER)
    return True


def _progress(work: Work[MigrateServer], migration: values.ServerMigration) -> values.MigrationProgress:
    """Return the progress of the first round over all shares."""
    copies = work.data.copies
    return server_progress.of_all(
        [(share.size, copies.get(share.id, HostCopy()).figures) for share in migration.shares]
    )


# Cut-over ---------------------------------------------------------------------------------------------


def _catch_up(work: Work[MigrateServer], migration: values.ServerMigration) -> None:
    """Copy the last changes of each share, check its copy, and admit clients to all of them.

    :raises errors.Again: it goes on.
    :raises errors.Final: a copy is not the same as its share; with the first paths.
    """
    copies, interval = (
        _copies(work, migration),
        work.service.section.server_migration_driver_continue_update_interval,
    )
    until = time.monotonic() + _SAVED_EVERY
    _keep_up(work, migration, copies)
    for copy in copies:
        with _named(copy):
            host_copy.catch_up(copy, interval, _PATIENCE)
        if time.monotonic() > until:
            raise errors.Again(0.0)
    for copy in copies:
        host_copy.serve(copy)
    work.data.rules_at_target = {copy.share_id: rule_levels(copy.migration.rules) for copy in copies}


def _complete(work: Work[MigrateServer], migration: values.ServerMigration) -> values.MigratedServer:
    """Return where the shares are now: the target serves already. In the same share network it gets the source's addresses."""
    copies = _copies(work, migration)
    exports = {copy.id: copy.target.export_locations for copy in copies}
    if target := cutover_addresses.take(work, migration):
        exports |= _run_at(work, target, copies)
        cutover_addresses.free_own(work)
    return values.MigratedServer(
        work.data.details,
        exports,
        {snapshot: location for copy in copies for snapshot, location in copy.data.snapshots_taken.items()},
    )


def _run_at(
    work: Work[MigrateServer], target: values.ShareServer, copies: Sequence[ShareCopy]
) -> dict[str, tuple[values.ExportLocation, ...]]:
    """Have the target run with the addresses that it has now. Return the export locations of its shares, by instance id."""
    driver = work.service.driver
    server = driver.ensure_servers([target])[target.id]
    if server.error:
        raise errors.ManilaLiteError(server.error)
    if server.details:
        work.data.details = dict(server.details)
    results = driver.ensure_shares(
        [
            values.EnsureTarget(dataclasses.replace(copy.target, server=target), copy.migration.rules)
            for copy in copies
        ]
    )
    for copy in copies:
        if copy.id not in results or results[copy.id].error:
            raise errors.ManilaLiteError(
                f'Share {copy.share_id} is not served at its new place: '
                f'{results[copy.id].error if copy.id in results else "there is no answer"}'
            )
    return {
        copy.id: tuple(results[copy.id].export_locations)
        for copy in copies
        if results[copy.id].export_locations
    }


# End --------------------------------------------------------------------------------------------------


def _cancel(work: Work[MigrateServer], migration: values.ServerMigration) -> None:
    """Stop the copies, and delete the target with all that is on it. The source is told when its own rules are applied anew."""
    driver, moves = work.service.driver, work.service.moves
    targets = {share.id: _target(migration, share) for share in migration.shares}
    for share_id in targets:
        moves.clear(share_id)
    copied_snapshots.delete(driver, migration.snapshots, targets)
    for target in targets.values():
        driver.delete_share(target)
    driver.teardown_server(migration.target)
