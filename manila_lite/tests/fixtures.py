# SPDX-License-Identifier: Apache-2.0
"""The whole product in one process, for tests: real database, real bus, real scheduler, real API; the dummy backend.

Choice of database and bus: see :mod:`manila_lite.tests.services.places`.
"""

from pathlib import Path

import fixtures
import sqlalchemy as sa
import webtest
from oslo_config import cfg
from oslo_messaging._metrics import client as metrics
from oslo_messaging._tracing import client as tracing

from manila_lite import context, encryption
from manila_lite.api.http import app
from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.queries import operations, share_types
from manila_lite.drivers.dummy import knobs
from manila_lite.manager.runtime.service import ShareManager
from manila_lite.rpc import transport
from manila_lite.scheduler.service import Scheduler
from manila_lite.tests import hush, waiting
from manila_lite.tests.schemas import newest_schema
from manila_lite.tests.services import places

#: Extra specs of the share type "default" of every test service.
DEFAULT_TYPE = {
    'driver_handles_share_servers': 'False',
    'snapshot_support': 'True',
    'create_share_from_snapshot_support': 'True',
    'revert_to_snapshot_support': 'True',
    'mount_snapshot_support': 'True',
}

_CONFIG = """
[api]
migration_check_timeout = {limit}
subnet_check_timeout = {limit}
[DEFAULT]
state_path = {state}
host = test
auth_strategy = noauth
default_share_type = default
enabled_share_backends = {backends}
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = 0
transport_url = {bus}
use_stderr = true
enabled_backup_types = nightly,weekly
{extra}
[api]
response_validation = true
[database]
connection = {database}
sqlite_synchronous_full = false
[operations]
poll_interval = 1
retry_delay = 0.05
max_attempts = 3
lease = 10
[scheduler]
restart_wait = 0
[nightly]
backup_continue_update_interval = 0.05
[weekly]
backup_continue_update_interval = 0.05
"""

_BACKEND = """
[{name}]
driver = dummy
dummy_pool_size_gb = 100
"""


def _registered(conf):
    """Return the configuration with options that oslo.messaging registers with that of the process alone."""
    conf.register_opts(metrics.oslo_messaging_metrics, 'oslo_messaging_metrics')
    conf.register_opts(tracing.oslo_messaging_tracing, 'oslo_messaging_tracing')
    return conf


class Service(fixtures.Fixture):
    """API, scheduler and share managers run as threads; ``app`` takes requests.

    ``backends``: name to further lines of its section. ``extra``: lines of ``[DEFAULT]`` and further sections. ``bus``:
    a transport URL that no other service uses.
    """

    #: There is one configuration object in a process, so only one service can run at a time. A test runner may start
    #: the next one before it ends the last.
    _present = None

    def __init__(self, backends=None, extra='', parts=('scheduler', 'share'), bus=None):
        super().__init__()
        self._bus = bus
        self._backends = {'alpha': ''} if backends is None else backends
        self._extra = extra
        self._parts = parts
        self.services = None
        self.scheduler = None
        self.managers = {}

    def _setUp(self):
        if Service._present is not None:
            Service._present.end()
        Service._present = self
        state = self.useFixture(fixtures.TempDir()).path
        self.state = Path(state)
        database = self.useFixture(places.EmptyDatabase(self.state)).url
        bus = self._bus or self.useFixture(places.EmptyBus()).url
        self.addCleanup(self.end)
        text = _CONFIG.format(
            state=state,
            database=database,
            bus=bus,
            backends=','.join(self._backends),
            extra=self._extra,
            limit=waiting.LIMIT,
        )
        text += ''.join(_BACKEND.format(name=name) + more + '\n' for name, more in self._backends.items())
        path = self.state / 'manila_lite.conf'
        path.write_text(text)
        self.conf = _registered(setup.configure([f'--config-file={path}'], conf=cfg.ConfigOpts()))
        self.useFixture(hush.Ear())
        self.services = setup.services(self.conf)
        newest_schema(self.services.db, models.metadata)
        encryption.prepare(self.conf, self.services.db)
        with self.services.db.writer() as conn:
            share_types.create(conn, 'default', DEFAULT_TYPE)
        self.start()
        self.wsgi = app.make(self.services)
        self.app = webtest.TestApp(self.wsgi)

    def use_networks(self, text, group='standalone_network', name='networks.yaml'):
        """Let the network plugin of this option group have the networks of a file with this text."""
        file = self.state / name
        file.write_text(text)
        self.conf.set_override('file', str(file), group)

    def start(self):
        """Start scheduler and share managers, or start them again."""
        self.managers = {name: ShareManager(self.services, name) for name in self._backends}
        self.scheduler = Scheduler(self.services)
        if 'share' in self._parts:
            for manager in self.managers.values():
                manager.start()
            for name in self.managers:
                self.wait_for_pool(name)
        if 'scheduler' in self._parts:
            self.scheduler.start()

    def stop(self):
        """Stop scheduler and share managers once their work is done."""
        if self.scheduler is not None and 'scheduler' in self._parts:
            self.scheduler.stop()
        if 'share' in self._parts:
            for manager in self.managers.values():
                manager.stop()

    @classmethod
    def works(cls):
        """Say whether a service runs that executes operations of backends."""
        return cls._present is not None and 'share' in cls._present._parts

    def settled(self, resource_id):
        """Wait until no operation of the resource is open: nothing changes it any more, and nothing holds it."""

        def still():
            with self.services.db.reader() as conn:
                rows = models.operations
                return (
                    conn.execute(
                        sa.select(rows.c.kind).where(
                            rows.c.resource_id == resource_id, rows.c.state == operations.OPEN
                        )
                    )
                    .scalars()
                    .all()
                )

        waiting.until(lambda: not still(), lambda: f'{still()} of {resource_id} has ended')

    def wait_for_pool(self, name):
        """Wait until the backend has reported its pools."""
        from manila_lite.db.queries import pool_reports

        def known():
            with self.services.db.reader() as conn:
                return any(f'@{name}#' in row.host for row in pool_reports.list_pools(conn))

        waiting.until(known, f'backend {name} has reported a pool')

    def scheduler_sees(self):
        """Have the scheduler read the backends now: its knowledge of them may be a second old."""
        hosts = self.scheduler.hosts
        with self.services.db.reader() as conn:
            hosts.pools(conn, not_before=hosts.now())

    def knob(self, backend, *texts):
        """Set the knobs of the dummy backend, one a line, none of them used up by an earlier test."""
        knobs.Knobs(self.state / backend).turn(
            *(line for text in texts for line in text.splitlines() if line)
        )

    def context(self, project='p', user='u', roles=('member', 'reader')):
        """Return the request context of a caller."""
        return context.RequestContext(
            user_id=user,
            project_id=project,
            roles=list(roles),
            services=self.services,
            is_admin='admin' in roles,
            overwrite=False,
        )

    def end(self):
        """Stop the service. May be called twice."""
        if Service._present is not self:
            return
        Service._present = None
        self.stop()
        if self.services is not None:
            self.services.bus.close(1)
            self.services.db.dispose()
        transport.cleanup()
