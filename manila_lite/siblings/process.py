# SPDX-License-Identifier: Apache-2.0
"""Processes of a sibling, built from the same parts as those of the share service."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import webob
from oslo_config import cfg
from oslo_policy import policy

from manila_lite import context, thread_reserve
from manila_lite.api.http import app, auth
from manila_lite.api.http.definition import Definition
from manila_lite.api.server import connection_limits
from manila_lite.api.server.listener import Listener
from manila_lite.api.server.server import ApiServer
from manila_lite.cmd import monitor, preflight, processes, reports, runner, setup
from manila_lite.db.maintenance import schema_upgrade
from manila_lite.siblings import connection
from manila_lite.siblings.shares import Services, Shares


@dataclasses.dataclass(frozen=True)
class Sibling:
    """A service beside the share service.

    ``name`` is also that of its topic and its option group (with the options of ``options.http``). ``register``
    registers its options; ``table`` is one that no other service has; ``check`` refuses a configuration that cannot work;
    ``worker`` makes the part that does the work, with ``start`` and ``stop``.
    """

    name: str
    api: Definition
    rules: Sequence[policy.RuleDefault]
    register: Callable[[cfg.ConfigOpts], None]
    migrations: Path
    table: str
    worker: Callable[[context.Services], Any]
    check: Callable[[cfg.ConfigOpts], None] = lambda conf: None

    def configure(
        self,
        argv: Sequence[str],
        program: str | None = None,
        *,
        alone: bool = False,
        conf: cfg.ConfigOpts | None = None,
    ) -> cfg.ConfigOpts:
        """Read the configuration of a program. ``alone``: no other process takes part, so no broker is needed.

        :raises errors.BadConfig: the configuration cannot work.
        """
        made = setup.configure(
            argv,
            transport_url='inproc://' if alone else None,
            conf=conf,
            more=self.register,
            database=f'mlite_{self.name}',
            program=program,
        )
        made.set_override('database', False, 'metrics')  # they are from the share service's tables
        return made

    def services(self, conf: cfg.ConfigOpts) -> Services:
        """Return the services of a process."""
        made = setup.services(conf, self.rules, self.migrations)
        return Services(
            made.conf,
            made.db,
            made.bus,
            made.make_enforcer,
            thread_reserve.ThreadReserve(conf[self.name].threads),
            Shares(conf),
        )

    def wsgi(self, services: context.Services) -> Callable[..., Any]:
        """Return the API as a WSGI application."""
        return app.make(services, self.api, most=services.conf[self.name].max_request_body_size)

    def http(self, services: context.Services, *, listener: Listener | None = None) -> ApiServer:
        """Return the API on the built-in server. ``listener``: one that is open already, for several processes."""
        own = services.conf[self.name]
        auth.check_listener(services.conf, own.listen, f'[{self.name}] listen')
        return ApiServer(
            self.wsgi(services),
            own.listen,
            own.listen_port,
            own.threads,
            listener=listener,
            max_body=own.max_request_body_size,
            limits=connection_limits.read_limits(own),
            options=f'[{self.name}] listen and listen_port',
        )


def base(group: str) -> Callable[[webob.Request, Any], str]:
    """Return a function that returns the address of the API for clients, from this option group."""
    return lambda raw, conf: (conf[group].base_url or raw.application_url).rstrip('/')


def _check_services(sibling: Sibling, conf: cfg.ConfigOpts) -> None:
    """Check database, broker and the logins of a sibling, for each of its processes; not whether the schema is the newest.

    :raises errors.BadConfig: one of them refuses the login, or the database belongs to another service. (Or an error of the
        database, which ``setup.run`` knows.)
    """
    preflight.reach(conf, sibling.migrations, sibling.table)
    preflight.check_broker(conf)
    for service in (connection.SHARES, connection.COMPUTE):
        if service.group in conf and (conf[service.group].auth_type or conf[service.group].auth_section):
            preflight.check_login(conf, service.group, f'the {service.name} cannot be asked until it does')


def run_api(sibling: Sibling) -> int:
    """Upgrade the database to the newest schema, and run the API until a signal ends it."""

    def body(argv: Sequence[str]) -> int:
        conf = sibling.configure(argv, f'mlite-{sibling.name}-api')
        services = sibling.services(conf)
        server = sibling.http(services)  # refuses a wrong configuration before anything forks
        if conf.database.connection.startswith('sqlite'):
            setup.make_state_path(Path(conf.state_path))  # the database is a file in it, by default
        _check_services(sibling, conf)
        preflight.check_tokens(conf)
        schema_upgrade.upgrade_if_older(services.db)
        services.db.dispose()
        listener = server.listen()
        return processes.run(
            conf,
            f'mlite-{sibling.name}-api',
            [
                processes.Part(
                    lambda: sibling.http(sibling.services(conf), listener=listener),
                    conf[sibling.name].api_workers,
                    listener,
                )
            ],
        )

    return setup.run(body)


def run_worker(sibling: Sibling, command: str) -> int:
    """Run the worker until a signal ends it."""

    def body(argv: Sequence[str]) -> int:
        conf = sibling.configure(argv, command)
        sibling.check(conf)
        _check_services(sibling, conf)
        preflight.check_schema(
            conf, sibling.migrations, sibling.table, f'start mlite-{sibling.name}-api, which makes them'
        )
        return processes.run(conf, command, [processes.Part(lambda: sibling.worker(sibling.services(conf)))])

    return setup.run(body)


def run_all(sibling: Sibling) -> int:
    """Run API and worker as threads of one process, on one SQLite file by default, until a signal ends it."""

    def body(argv: Sequence[str]) -> int:
        conf = sibling.configure(argv, f'mlite-{sibling.name}', alone=True)
        setup.lock_state_path(Path(conf.state_path) / sibling.name)
        sibling.check(conf)
        services = sibling.services(conf)
        parts = [
            monitor.Monitor(conf, f'mlite-{sibling.name}'),
            sibling.worker(services),
            sibling.http(services),
        ]
        _check_services(sibling, conf)
        preflight.check_tokens(conf)
        schema_upgrade.upgrade_if_older(services.db)
        setup.say_start(f'mlite-{sibling.name}')
        reports.install_signal_handler()
        return runner.run([runner.ConfigFiles(conf), *parts])

    return setup.run(body)
