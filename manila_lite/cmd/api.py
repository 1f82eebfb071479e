# SPDX-License-Identifier: Apache-2.0
"""``manila-api``: the API on the built-in server, as ``osapi_share_workers`` processes."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import socket
import sys
from collections.abc import Sequence

from oslo_config import cfg

from manila_lite import context, encryption, key_manager
from manila_lite.api.http import app, auth, request_notes
from manila_lite.api.server import connection_limits
from manila_lite.api.server.listener import Listener
from manila_lite.api.server.server import ApiServer
from manila_lite.cmd import preflight, processes, setup, socket_activation


class Api:
    """The API on the built-in server. ``listener``: one that is open already, for several processes."""

    def __init__(self, services: context.Services, *, listener: Listener | None = None):
        auth.check_listener(services.conf, services.conf.osapi_share_listen, 'osapi_share_listen')
        key_manager.check(services.conf)
        self._notes = request_notes.Notes(services)
        self._app = app.make(services, note=self._notes.note)
        self._server = ApiServer(
            self._app,
            services.conf.osapi_share_listen,
            services.conf.osapi_share_listen_port,
            services.conf.api.threads,
            max_body=services.conf.api.max_request_body_size,
            listener=listener,
            limits=connection_limits.read_limits(services.conf.api),
        )

    @property
    def port(self) -> int:
        """The port in use."""
        return self._server.port

    def listen(self, given: socket.socket | None = None) -> Listener:
        """Return a listener for the processes of the API. ``given``: a socket that listens already.

        :raises BadConfig: it cannot listen on its address.
        """
        return self._server.listen() if given is None else Listener(given, self._app)

    def start(self) -> None:
        """Answer requests from now on."""
        self._server.start()

    def stop(self) -> None:
        """Take no more requests, and wait until those under way are answered."""
        self._server.stop()
        self._notes.close()


def main() -> int:
    """Run until a signal ends it."""
    return setup.run(_main)


def _given(conf: cfg.ConfigOpts) -> socket.socket | None:
    """Return the socket that systemd has opened, if it has. Its address is then the one in force, not that of the options.

    :raises errors.BadConfig: it is of no use, or strangers would be administrators there.
    """
    given = socket_activation.take()
    if given is not None:
        host, port = given.getsockname()[:2]
        auth.check_listener(conf, host, 'ListenStream of the socket unit')
        conf.set_override('osapi_share_listen', host)
        conf.set_override('osapi_share_listen_port', port)
    return given


def _main(argv: Sequence[str]) -> int:
    conf = setup.configure(argv, program='manila-api')
    given = _given(conf)
    api = Api(setup.services(conf))  # refuses a wrong configuration before anything forks
    preflight.check_api(conf)
    encryption.check(conf)
    listener = api.listen(given)
    return processes.run(
        conf,
        'manila-api',
        [
            processes.Part(
                lambda: Api(setup.services(conf), listener=listener), conf.osapi_share_workers, listener
            )
        ],
    )


if __name__ == '__main__':
    sys.exit(main())
