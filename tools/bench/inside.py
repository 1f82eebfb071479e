# SPDX-License-Identifier: Apache-2.0
"""The product in this process, without an HTTP server, for the processor time of single calls."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
import webob
from oslo_config import cfg

import product
from manila_lite import context
from manila_lite.api.http import app
from manila_lite.cmd import setup
from manila_lite.db.queries import share_types
from manila_lite.rpc import transport

_HEADERS = {
    'X-Auth-Token': 'u:p:member,reader',
    'X-OpenStack-Manila-API-Version': '2.82',
    'Content-Length': '0',
}


class Inside:
    """The services of the process, and its WSGI application."""

    def __init__(self, services: context.Services, type_id: str):
        self.services = services
        self.type_id = type_id
        self._app: Callable = app.make(services)

    def get(self, path: str) -> bytes:
        """Return the body of the answer to a GET, whose status must be 200."""
        answer = webob.Request.blank(f'/v2{path}', headers=_HEADERS).get_response(self._app)
        if answer.status_int != 200:
            raise RuntimeError(f'GET {path}: {answer.status} {answer.body[:500]!r}')
        return answer.body

    def statements(
        self, act: Callable[[], object], *, elsewhere: bool = False
    ) -> list[tuple[str, tuple[Any, ...]]]:
        """Return the statements of this thread until ``act`` returns, with their values; or those ``elsewhere``, of others."""
        seen: list[tuple[str, tuple[Any, ...]]] = []
        me = threading.get_ident()

        def saw(conn: Any, cursor: Any, statement: str, values: Any, *rest: Any) -> None:
            if (threading.get_ident() != me) == elsewhere and not statement.startswith('BEGIN'):
                seen.append((statement, values))

        sa.event.listen(self.services.db.engine, 'before_cursor_execute', saw)
        try:
            act()
        finally:
            sa.event.remove(self.services.db.engine, 'before_cursor_execute', saw)
        return seen


@contextlib.contextmanager
def inside() -> Iterator[Inside]:
    """Yield the product on a SQLite file, with only a share type; remove it afterwards."""
    with product.Product() as made:
        services = setup.services(setup.configure([f'--config-file={made.config}'], conf=cfg.ConfigOpts()))
        try:
            with services.db.writer() as conn:
                type_id = share_types.create(conn, 'default', {'driver_handles_share_servers': 'False'})
            yield Inside(services, type_id)
        finally:
            services.bus.close(1)
            services.db.dispose()
            transport.cleanup()
