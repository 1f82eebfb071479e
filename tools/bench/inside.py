# SPDX-License-Identifier: Apache-2.0
"""The product in this process, without an HTTP server, for the processor time of single calls."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from oslo_config import cfg

import product
from manila_lite import context
from manila_lite.api.http import app
from manila_lite.cmd import setup
from manila_lite.db.maintenance import schema_migrations
from manila_lite.db.queries import share_types
from manila_lite.rpc import transport


class Inside:
    """The services of the process, and its WSGI application."""

    def __init__(self, services: context.Services, type_id: str):
        self.services = services
        self.type_id = type_id
        self._app: Callable = app.make(services)

    def get(self, path: str) -> bytes:
        """Return the body of the answer to a GET, whose status must be 200."""
        status: list[str] = []
        path, _, query = path.partition('?')
        body = b''.join(
            self._app(
                {
                    'REQUEST_METHOD': 'GET',
                    'PATH_INFO': f'/v2{path}',
                    'QUERY_STRING': query,
                    'SERVER_NAME': 'localhost',
                    'SERVER_PORT': '80',
                    'SERVER_PROTOCOL': 'HTTP/1.1',
                    'HTTP_HOST': 'localhost',
                    'wsgi.url_scheme': 'http',
                    'wsgi.input': io.BytesIO(),
                    'wsgi.errors': sys.stderr,
                    'wsgi.version': (1, 0),
                    'wsgi.multithread': True,
                    'wsgi.multiprocess': False,
                    'wsgi.run_once': False,
                    'CONTENT_LENGTH': '0',
                    'HTTP_X_AUTH_TOKEN': 'u:p:member,reader',
                    'HTTP_X_OPENSTACK_MANILA_API_VERSION': '2.82',
                },
                lambda line, headers, error=None: status.append(line),
            )
        )
        if not status[0].startswith('200'):
            raise RuntimeError(f'GET {path}: {status[0]} {body[:500]!r}')
        return body


@contextlib.contextmanager
def inside() -> Iterator[Inside]:
    """Yield the product on a SQLite file, with only a share type; remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix='manila-lite-bench-') as folder:
        conf = setup.configure([f'--config-file={product.Product(folder).config}'], conf=cfg.ConfigOpts())
        services = setup.services(conf)
        try:
            schema_migrations.upgrade(services.db)
            with services.db.writer() as conn:
                type_id = share_types.create(conn, 'default', {'driver_handles_share_servers': 'False'})
            yield Inside(services, type_id)
        finally:
            services.bus.close(1)
            services.db.dispose()
            transport.cleanup()


def database_file(services: Any) -> Path:
    """Return the path of the SQLite file."""
    return Path(services.db.engine.url.database)
