# SPDX-License-Identifier: Apache-2.0
"""Beginning of runs that ensure all shares of a backend: one at a time for each backend, whoever asked for it."""

from typing import Any

from manila_lite import context
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import ensure, services
from manila_lite.engine.begin import Wake, begin, begin_once
from manila_lite.engine.plans import EXCLUSIVE


def ask(conn: Connection, ctx: context.RequestContext, service: Any, why: str) -> Wake:
    """Begin a run that ensures all shares of a backend, and return the wake-up to send after the commit.

    ``service`` is the row of the backend's service, which the caller held first of all (``db.services.set_ensuring``).
    """
    return begin(conn, ctx, ensure.KIND, 'service', str(service.id), topic='share', host=service.host, lane=EXCLUSIVE,
                 open_key=ensure.open_key(service.host), data={'why': why})


def ask_once(conn: Connection, ctx: context.RequestContext, host: str, why: str, only: list[str] | None = None,
             heal: list[str] | None = None) -> Wake:
    """Begin a run as ``ask`` does, or have the open one run again.

    For a new run, ``only`` are the ids of its instances, and ``heal`` those of share servers to set to active if they run.
    """
    services.set_ensuring(conn, host, True)
    service = services.get(conn, host, 'manila-share')
    data = {'why': why, **({} if only is None else {'only': only}), **({'heal': heal} if heal else {})}
    return begin_once(conn, ctx, ensure.KIND, 'service', str(service.id), topic='share', host=host, lane=EXCLUSIVE,
                      open_key=ensure.open_key(host), data=data)
