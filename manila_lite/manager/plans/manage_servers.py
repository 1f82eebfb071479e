# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of share servers that exist at the backend."""

import dataclasses
import functools
from typing import Any

from oslo_log import log

from manila_lite import states, values
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.doctor import share_servers as share_server_findings
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import allocations, share_server_capabilities, share_server_queries
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import admin_network, adopted_addresses
from manila_lite.manager.plans import share_servers as share_server_plans
from manila_lite.manager.plans.task import able_driver
from manila_lite.network import load as plugins
from manila_lite.operation_data.share_servers import ManageServer, UnmanageServer
from manila_lite.workflow.verbs import verb_plan

LOG = log.getLogger(__name__)

_CANNOT = 'neither manage nor unmanage share servers'

# Managing -----------------------------------------------------------------------------------------


def register_addresses(work: Work[ManageServer]) -> None:
    """Register the addresses that the server has as used by it, in its share network and in that of administrators."""
    driver = able_driver(work, values.Ability.MANAGE_SERVERS, _CANNOT)
    addresses = driver.find_server(
        share_server_plans.load_here(work), work.data.identifier, work.data.options
    )
    with work.ctx.db.reader() as conn:
        [subnet] = share_server_queries.subnets_of(conn, (work.resource_id,))[work.resource_id]
    admins, needs = admin_network.find(work), (driver.ALLOCATIONS_PER_SUBNET, driver.ADMIN_ALLOCATIONS)
    users, others = adopted_addresses.by_network(addresses, subnet, admins, needs)
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
            able_driver(work, values.Ability.MANAGE_SERVERS, _CANNOT).manage_server(
                share_server_plans.load_here(work), work.data.identifier, work.data.options
            )
        )


def give_back(work: Work[Any]) -> None:
    """Let go of the server at the backend."""
    with share_server_plans.alone(work.resource_id):
        able_driver(work, values.Ability.MANAGE_SERVERS, _CANNOT).unmanage_server(
            share_server_plans.load_here(work)
        )


def managed(conn: Connection, work: Work[ManageServer], server_id: str) -> dict[str, Any]:
    """Store the driver's details of the server. Return the backend's abilities."""
    key_values.replace(conn, share_server_details, server_id, work.data.details)
    return dict(share_server_capabilities.reported(conn, work.service.host))


# Unmanaging ---------------------------------------------------------------------------------------


def release(work: Work[UnmanageServer]) -> None:
    """Let go of the server at the backend; with force, go on even if the backend fails."""
    try:
        give_back(work)
    except Exception as bad:
        if not work.data.force:
            raise
        LOG.warning('%s: unmanaged by force, though the backend failed: %s', work.resource_id, bad)


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
    verb_plan(
        'share_server.manage',
        ManageServer,
        states.SHARE_SERVER,
        'manage',
        Step(register_addresses, unregister_addresses),
        Step(manage, give_back),
        on_done=managed,
        action=Action.MANAGE_SERVER,
        detail=Detail.SERVER_NOT_MANAGED,
    ),
    dataclasses.replace(
        verb_plan(
            'share_server.unmanage',
            UnmanageServer,
            states.SHARE_SERVER,
            'unmanage',
            Step(release),
            Step(unregister_addresses),
            action=Action.UNMANAGE_SERVER,
            detail=Detail.SERVER_NOT_UNMANAGED,
        ),
        done=functools.partial(share_server_plans.removed, verb='unmanage'),
    ),
]
