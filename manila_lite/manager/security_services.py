# SPDX-License-Identifier: Apache-2.0
"""Another security service for share servers in use: from then on they know their users by it."""

from manila_lite import errors, kinds
from manila_lite.db import security_services
from manila_lite.db.engine import Connection
from manila_lite.db.messages import Action, Detail
from manila_lite.manager import server_changes, servers, serving
from manila_lite.operations import Step, Work


def _services(conn: Connection, work: Work) -> tuple[kinds.SecurityService, kinds.SecurityService | None]:
    """Return the new security service, and the one that it replaces, if any.

    :raises errors.Final: one is gone.
    """
    wanted = [ident for ident in (work.data['new_id'], work.data['current_id']) if ident]
    found = {row.id: serving.service(row) for row in security_services.by_ids(conn, wanted)}
    for ident in wanted:
        if ident not in found:
            raise errors.Final(f'Security service {ident} is gone.')
    return found[wanted[0]], found[wanted[1]] if wanted[1:] else None


def _ask(work: Work, server: kinds.ShareServer, targets: list[kinds.EnsureTarget]) -> None:
    with work.ctx.db.reader() as conn:
        new, current = _services(conn, work)
    work.service.driver.check_update_share_server_security_service(server, new, current, targets)


def _update(work: Work) -> None:
    with work.ctx.db.reader() as conn:
        server = servers.found(conn, work)
        new, current = _services(conn, work)
        targets = server_changes.targets(conn, server)
    server_changes.keep(work, work.service.driver.update_share_server_security_service(server, new, current, targets))


PLANS = [
    server_changes.question('security_service.check', kinds.Ability.SECURITY_SERVICES,
                            'tell its share servers of another security service', _ask,
                            Action.ADD_UPDATE_SECURITY_SERVICE, Detail.SECURITY_SERVICE_DENIED),
    server_changes.change('share_server.update_security_service', (Step(server_changes.alone(_update)),),
                          Action.ADD_UPDATE_SECURITY_SERVICE, Detail.SECURITY_SERVICE_NOT_UPDATED),
]
