# SPDX-License-Identifier: Apache-2.0
"""Another security service for share servers in use: from then on they know their users by it."""

from typing import Any

from manila_lite import errors, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import security_services
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import share_server_updates, share_server_values, share_servers
from manila_lite.operation_data.share_servers import (
    CheckSecurityService,
    NewSecurityService,
    UpdateSecurityService,
)


def _services(
    conn: Connection, work: Work[NewSecurityService]
) -> tuple[values.SecurityService, values.SecurityService | None]:
    """Return the new security service, and the one that it replaces, if any.

    :raises errors.Final: one is gone.
    """
    wanted = [service_id for service_id in (work.data.new_id, work.data.current_id) if service_id]
    services = {
        row.id: share_server_values.service(row) for row in security_services.list_by_ids(conn, wanted)
    }
    for service_id in wanted:
        if service_id not in services:
            raise errors.Final(f'Security service {service_id} is gone.')
    return services[wanted[0]], services[wanted[1]] if wanted[1:] else None


def _ask(
    work: Work[CheckSecurityService], server: values.ShareServer, targets: list[values.EnsureTarget]
) -> None:
    with work.ctx.db.reader() as conn:
        new, current = _services(conn, work)
    work.service.driver.check_update_share_server_security_service(server, new, current, targets)


def _update(work: Work[UpdateSecurityService]) -> None:
    with work.ctx.db.reader() as conn:
        server = share_servers.load_server(conn, work)
        new, current = _services(conn, work)
        targets = share_server_updates.targets(conn, server)
    share_server_updates.keep(
        work, work.service.driver.update_share_server_security_service(server, new, current, targets)
    )


PLANS: list[Plan[Any]] = [
    share_server_updates.question(
        'security_service.check',
        CheckSecurityService,
        values.Ability.SECURITY_SERVICES,
        'update its share servers with another security service',
        _ask,
        Action.ADD_UPDATE_SECURITY_SERVICE,
        Detail.SECURITY_SERVICE_DENIED,
    ),
    share_server_updates.change(
        'share_server.update_security_service',
        UpdateSecurityService,
        (Step(share_server_updates.alone(_update)),),
        Action.ADD_UPDATE_SECURITY_SERVICE,
        Detail.SECURITY_SERVICE_NOT_UPDATED,
    ),
]
