# SPDX-License-Identifier: Apache-2.0
"""Upkeep of the backend's share servers: restoration after a restart, and periodic deletion of unused ones and leftovers."""

import concurrent.futures
from collections.abc import Collection
from typing import Any

from oslo_log import log

from manila_lite import context, errors, values
from manila_lite.db.core import key_values
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import share_server_queries, unused_share_servers
from manila_lite.drivers.interface import abilities_of
from manila_lite.manager.plans import admin_network, allocated_addresses
from manila_lite.manager.plans.share_server_values import load
from manila_lite.manager.plans.share_servers import alone
from manila_lite.network import load as plugins
from manila_lite.workflow.share_servers import remove_server

LOG = log.getLogger(__name__)

#: How many servers are restored at the same time.
_WORKERS = 4


def remove_unused(manager: Any) -> None:
    """Begin to delete the backend's servers that have been unused for a while."""
    conf = manager.services.conf
    if not conf.automatic_share_server_cleanup:
        return
    with manager.services.db.reader() as conn:
        unused = unused_share_servers.list_unused(
            conn, manager.host, conf.unused_share_server_cleanup_interval * 60
        )
        idle = share_server_queries.list_by_ids(conn, unused)
    for server in idle:
        _remove(context.admin(manager.services), server)


def _remove(ctx: context.RequestContext, server: Any) -> None:
    try:
        with ctx.db.writer() as conn:
            remove_server(conn, ctx, server)
    except errors.Conflict as busy:
        LOG.info('Share server %s stays: %s', server.id, busy)


def free_leftovers(manager: Any) -> None:
    """Free everything that the network plugins hold for deleted servers."""
    if not manager.driver.HANDLES_SHARE_SERVERS:
        return
    allocated_addresses.free_leftovers(manager.services, plugins.make(manager.services.conf))
    admin_network.free_leftovers(manager)


def restore(
    manager: Any,
    mended: dict[str, tuple[str, ...]] | None = None,
    only: Collection[str] | None = None,
    ctx: context.RequestContext | None = None,
) -> dict[str, str]:
    """Bring the backend's servers up again, or those of these ids, also those in error with shares.

    Return the reason for each that does not run, by its id: its own, or the request id under which the log has it.

    ``mended`` receives the repairs that the backend reports of the others, by server id.
    """
    ctx = ctx or context.admin(manager.services)
    repairs = {} if mended is None else mended
    if values.Ability.SHARE_SERVERS not in abilities_of(manager.driver):
        return {}
    with manager.services.db.reader() as conn:
        server_ids = [
            server_id
            for server_id in share_server_queries.list_served(conn, manager.host)
            if only is None or server_id in only
        ]
    with concurrent.futures.ThreadPoolExecutor(_WORKERS, f'{manager.name}-servers') as workers:
        whys = list(workers.map(lambda server_id: _restore_one(manager, ctx, server_id, repairs), server_ids))
    return {server_id: why for server_id, why in zip(server_ids, whys, strict=True) if why is not None}


def _restore_one(
    manager: Any, ctx: context.RequestContext, server_id: str, mended: dict[str, tuple[str, ...]]
) -> str | None:
    """Bring one server up again. Return the reason why it does not run, or None."""
    with context.working(ctx, f'ensure share server {server_id}'), alone(server_id):
        # Read only now: since it was listed the server may have got a subnet, or have been deleted.
        with manager.services.db.reader() as conn:
            server = (
                load(conn, [server_id]).get(server_id)
                if share_server_queries.is_served(conn, server_id)
                else None
            )
        if server is None:
            return None
        try:
            result = manager.driver.ensure_servers([server])[server_id]
        except Exception as error:
            LOG.exception('Share server %s could not be restored', server_id)
            return errors.reason(error, ctx.request_id)
        if result.error:
            LOG.error('Share server %s does not run: %s', server_id, result.error)
            return str(result.error)
        if result.repaired:
            LOG.warning('Share server %s: was repaired: %s', server_id, '; '.join(result.repaired))
            mended[server_id] = result.repaired
        if result.details:
            with manager.services.db.writer() as conn:
                if share_server_queries.list_by_ids(conn, (server_id,)):
                    key_values.replace(conn, share_server_details, server_id, result.details)
    return None
