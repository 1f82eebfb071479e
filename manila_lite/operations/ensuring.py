# SPDX-License-Identifier: Apache-2.0
"""How a run over all shares of a backend begins: one at a time for each, whoever wants it."""

from typing import Any

from manila_lite import context
from manila_lite.db import ensuring, services
from manila_lite.db.engine import Connection
from manila_lite.operations.begin import Wake, begin, begin_once
from manila_lite.operations.plans import CALM


def ask(conn: Connection, ctx: context.RequestContext, service: Any, why: str) -> Wake:
    """A run that did not begin before now is asked for. ``service`` is the row of the backend's service, which was held
    (``db.services.set_ensuring``) first of all. Returns the wake-up to send after the commit.
    """
    return begin(conn, ctx, ensuring.KIND, 'service', str(service.id), topic='share', host=service.host, lane=CALM,
                 open_key=ensuring.key(service.host), data={'why': why})


def ask_once(conn: Connection, ctx: context.RequestContext, host: str, why: str, only: list[str] | None = None) -> Wake:
    """As ``ask``; one that is open begins anew. ``only``: of a new one, the ids of the instances that it is about."""
    services.set_ensuring(conn, host, True)
    service = services.get(conn, host, 'manila-share')
    return begin_once(conn, ctx, ensuring.KIND, 'service', str(service.id), topic='share', host=host, lane=CALM,
                      open_key=ensuring.key(host), data={'why': why, **({} if only is None else {'only': only})})
