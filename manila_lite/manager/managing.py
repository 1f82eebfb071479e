# SPDX-License-Identifier: Apache-2.0
"""Share servers that the backend had already and that become ours, and those that we let go of."""

from typing import Any

from oslo_log import log

from manila_lite import errors, kinds, states
from manila_lite.db import doctor_servers, pairs, server_abilities, serving, transitions
from manila_lite.db.engine import Connection
from manila_lite.db.messages import Action, Detail
from manila_lite.db.models import share_server_details
from manila_lite.drivers.interface import abilities_of, capabilities_of
from manila_lite.manager import kept_addresses, servers
from manila_lite.manager.task import tell
from manila_lite.network import load as plugins
from manila_lite.operations import Plan, Step, Work

LOG = log.getLogger(__name__)


def _driver(work: Work) -> Any:
    """:raises errors.Final: the driver can do none of this."""
    driver = work.service.driver
    if kinds.Ability.MANAGE_SERVERS not in abilities_of(driver):
        raise errors.Final(f'Backend {work.service.host} can neither take over share servers nor let go of them.')
    return driver


def _server(work: Work) -> kinds.ShareServer:
    with work.ctx.db.reader() as conn:
        return servers.found(conn, work)


# Taking one over ----------------------------------------------------------------------------------

def keep_addresses(work: Work) -> None:
    """The addresses that the server has are known to be in use by it."""
    found = _driver(work).find_server(_server(work), work.data['identifier'], work.data['options'])
    with work.ctx.db.reader() as conn:
        [subnet] = serving.subnets_of(conn, (work.resource_id,))[work.resource_id]
    kept_addresses.keep(work.ctx.services, plugins.make(work.ctx.conf), work.resource_id, subnet, found,
                        work.service.driver.ALLOCATIONS_PER_SUBNET, work.hold)


def forget_addresses(work: Work) -> None:
    """The server's addresses are not known any more; it has them as before."""
    kept_addresses.forget(work.ctx.services, plugins.make(work.ctx.conf), work.resource_id, work.hold)


def take_over(work: Work) -> None:
    """The server at the backend is ours."""
    with servers.alone(work.resource_id):
        work.data['details'] = dict(_driver(work).manage_server(
            _server(work), work.data['identifier'], work.data['options']))


def give_back(work: Work) -> None:
    """The server at the backend is not ours."""
    with servers.alone(work.resource_id):
        _driver(work).unmanage_server(_server(work))


def managed(conn: Connection, work: Work) -> None:
    """The server is active, with what its driver wants to find again and what its backend can do."""
    can = capabilities_of(work.service.driver)
    pairs.replace(conn, share_server_details, work.resource_id, work.data['details'])
    transitions.finish(conn, states.SHARE_SERVER, 'manage', work.resource_id,
                       **{name: can.get(name, False) for name in server_abilities.NAMES})


def not_managed(conn: Connection, work: Work, error: Exception) -> None:
    """The server is in ``manage_error``, and who asked is told why."""
    transitions.fail(conn, states.SHARE_SERVER, 'manage', work.resource_id)
    tell(conn, work, 'SHARE_SERVER', Action.MANAGE_SERVER, Detail.SERVER_NOT_MANAGED, error)


# Letting go of one --------------------------------------------------------------------------------

def let_go(work: Work) -> None:
    """The server at the backend is not ours any more; by force it is so even if the backend does not agree."""
    try:
        give_back(work)
    except Exception as bad:
        if not work.data['force']:
            raise
        LOG.warning('%s: by force, and the backend did not let go of it: %s', work.resource_id, bad)


def unmanaged(conn: Connection, work: Work) -> None:
    """The server's row is gone."""
    servers.removed(conn, work, 'unmanage')


def not_unmanaged(conn: Connection, work: Work, error: Exception) -> None:
    """The server is in ``unmanage_error``, and who asked is told why."""
    transitions.fail(conn, states.SHARE_SERVER, 'unmanage', work.resource_id)
    tell(conn, work, 'SHARE_SERVER', Action.UNMANAGE_SERVER, Detail.SERVER_NOT_UNMANAGED, error)


# Those that nobody knows of -----------------------------------------------------------------------

def strays(manager: Any) -> dict[str, list[str]]:
    """Return the servers that the backend holds and that have no row, as a capability of its pools: the doctor reads it."""
    if kinds.Ability.SHARE_SERVERS not in abilities_of(manager.driver):
        return {}
    held = set(manager.driver.held_servers())
    with manager.services.db.reader() as conn:
        held -= {row.id for row in serving.by_ids(conn, held)}
    if held:
        held &= set(manager.driver.held_servers())      # one may have gone in between, row and all
    return {doctor_servers.STRAYS: sorted(held)} if held else {}


PLANS = [
    Plan('share_server.manage', (Step(keep_addresses, forget_addresses), Step(take_over, give_back)), managed, not_managed),
    Plan('share_server.unmanage', (Step(let_go), Step(forget_addresses)), unmanaged, not_unmanaged),
]
