# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of share servers that exist at the backend."""

from typing import Any

from oslo_log import log

from manila_lite import errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.doctor import share_servers as share_server_findings
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import allocations, share_server_capabilities, share_server_queries
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import admin_network, adopted_addresses
from manila_lite.manager.plans import share_servers as share_server_plans
from manila_lite.manager.plans.task import notify
from manila_lite.network import load as plugins
from manila_lite.operation_data.share_servers import ManageServer, UnmanageServer

LOG = log.getLogger(__name__)


def _driver(work: Work[Any]) -> Any:
    """Return the backend's driver.

    :raises errors.Final: it can neither manage nor unmanage share servers.
    """
    driver = work.service.driver
    if values.Ability.MANAGE_SERVERS not in abilities_of(driver):
        raise errors.Final(f'Backend {work.service.host} can neither manage nor unmanage share servers.')
    return driver


def _server(work: Work[Any]) -> values.ShareServer:
    with work.ctx.db.reader() as conn:
        return share_server_plans.load_server(conn, work)


# Managing -----------------------------------------------------------------------------------------


def register_addresses(work: Work[ManageServer]) -> None:
    """Register the addresses that the server has as used by it, in its share network and in that of administrators."""
    driver = _driver(work)
    addresses = driver.find_server(_server(work), work.data.identifier, work.data.options)
    with work.ctx.db.reader() as conn:
        [subnet] = share_server_queries.subnets_of(conn, (work.resource_id,))[work.resource_id]
    admins, needs = admin_network.find(work), (driver.ALLOCATIONS_PER_SUBNET, driver.ADMIN_ALLOCATIONS)
    users, others = adopted_addresses.by_place(addresses, subnet, admins, needs)
    adopted_addresses.keep(
        work.ctx.services, plugins.make(work.ctx.conf), work.resource_id, subnet, users, work.hold
    )
    if others:
        adopted_addresses.keep(
            work.ctx.services, admin_network.plugin(work), work.resource_id, admins, others, work.hold
        )


def unregister_addresses(work: Work[Any]) -> None:
    """Remove the server's addresses from the records; the server keeps them."""
    adopted_addresses.forget(
        work.ctx.services, admin_network.plugin(work), work.resource_id, allocations.ADMIN, work.hold
    )
    adopted_addresses.forget(work.ctx.services, plugins.make(work.ctx.conf), work.resource_id, hold=work.hold)


def manage(work: Work[ManageServer]) -> None:
    """Take the server over at the backend."""
    with share_server_plans.alone(work.resource_id):
        work.data.details = dict(
            _driver(work).manage_server(_server(work), work.data.identifier, work.data.options)
        )


def give_back(work: Work[Any]) -> None:
    """Let go of the server at the backend."""
    with share_server_plans.alone(work.resource_id):
        _driver(work).unmanage_server(_server(work))


def managed(conn: Connection, work: Work[ManageServer]) -> None:
    """Set the server to active, and store its driver's details and the backend's abilities."""
    key_values.replace(conn, share_server_details, work.resource_id, work.data.details)
    transitions.finish(
        conn,
        states.SHARE_SERVER,
        'manage',
        work.resource_id,
        **share_server_capabilities.reported(conn, work.service.host),
    )


def not_managed(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Set the server to ``manage_error``, and tell the user why."""
    transitions.fail(conn, states.SHARE_SERVER, 'manage', work.resource_id)
    notify(conn, work, 'SHARE_SERVER', Action.MANAGE_SERVER, Detail.SERVER_NOT_MANAGED, error)


# Unmanaging ---------------------------------------------------------------------------------------


def release(work: Work[UnmanageServer]) -> None:
    """Let go of the server at the backend; with force, go on even if the backend fails."""
    try:
        give_back(work)
    except Exception as bad:
        if not work.data.force:
            raise
        LOG.warning('%s: unmanaged by force, though the backend failed: %s', work.resource_id, bad)


def unmanaged(conn: Connection, work: Work[Any]) -> None:
    """Delete the server's row."""
    share_server_plans.removed(conn, work, 'unmanage')


def not_unmanaged(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Set the server to ``unmanage_error``, and tell the user why."""
    transitions.fail(conn, states.SHARE_SERVER, 'unmanage', work.resource_id)
    notify(conn, work, 'SHARE_SERVER', Action.UNMANAGE_SERVER, Detail.SERVER_NOT_UNMANAGED, error)


# Unknown servers ----------------------------------------------------------------------------------


def strays(manager: Any) -> dict[str, list[str]]:
    """Return the servers that the backend holds and that have no row, as a capability of its pools: the doctor reads it."""
    if values.Ability.SHARE_SERVERS not in abilities_of(manager.driver):
        return {}
    held = set(manager.driver.held_servers())
    with manager.services.db.reader() as conn:
        held -= {row.id for row in share_server_queries.list_by_ids(conn, held)}
    if held:
        held &= set(manager.driver.held_servers())  # one may have been deleted in between, with its row
    return {share_server_findings.STRAYS: sorted(held)} if held else {}


PLANS: list[Plan[Any]] = [
    Plan(
        'share_server.manage',
        (Step(register_addresses, unregister_addresses), Step(manage, give_back)),
        managed,
        not_managed,
        data=ManageServer,
    ),
    Plan(
        'share_server.unmanage',
        (Step(release), Step(unregister_addresses)),
        unmanaged,
        not_unmanaged,
        data=UnmanageServer,
    ),
]
