# SPDX-License-Identifier: Apache-2.0
"""Base of tests of the compute service: it runs beside a real share service, with guests that are records on disk."""

import json
from pathlib import Path

import fixtures
import webtest
from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite.db.maintenance import schema_migrations
from manila_lite.siblings.compute import cmd
from manila_lite.siblings.compute.agent import Agent
from manila_lite.tests import waiting
from manila_lite.tests.functional.siblings.share_service import ShareServiceTest, register_messaging
from manila_lite.tests.services import places

NEWEST = '2.97'

CONFIG = """
[DEFAULT]
state_path = {state}
host = here
auth_strategy = noauth
transport_url = {bus}
{default}
[api]
response_validation = true
[database]
connection = {database}
sqlite_synchronous_full = false
[operations]
poll_interval = 0.2
retry_delay = 0.05
max_attempts = 2
lease = 10
[share_service]
auth_type = admin_token
endpoint = {url}/v2
token = nova:service:service
status_code_retry_delay = 0.05
connect_retry_delay = 0.05
[compute]
listen = 127.0.0.1
listen_port = 0
driver = fake
my_shared_fs_storage_ip = 10.0.0.1
reconcile_interval = 3600
retry_interval = 0.1
{extra}
"""


class Compute(fixtures.Fixture):
    """Compute service with API and agent. ``extra``: further lines of ``[compute]`` and further sections."""

    def __init__(self, url, extra='', default='', agent=True):
        super().__init__()
        self._url, self._extra, self._default, self._works = url, extra, default, agent

    def _setUp(self):
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.state / 'compute.conf'
        self.file.write_text(
            CONFIG.format(
                state=self.state,
                url=self._url,
                extra=self._extra,
                default=self._default,
                bus=self.useFixture(places.EmptyBus()).url,
                database=self.useFixture(places.EmptyDatabase(self.state)).url,
            )
        )
        self.conf = cmd.COMPUTE.configure([f'--config-file={self.file}'], conf=cfg.ConfigOpts())
        register_messaging(self.conf)
        self.services = cmd.COMPUTE.services(self.conf)
        self.addCleanup(self.services.db.dispose)
        self.addCleanup(self.services.bus.close, 1)
        schema_migrations.upgrade(self.services.db)
        self.app = webtest.TestApp(cmd.COMPUTE.wsgi(self.services))
        self.agent = None
        self.addCleanup(self.stop)
        if self._works:
            self.start()

    def start(self):
        """Start an agent."""
        self.agent = Agent(self.services)
        self.agent.start()

    def stop(self):
        """Stop the agent, if it runs."""
        if self.agent is not None:
            self.agent.stop()
            self.agent = None

    @property
    def folder(self):
        """The directory of the driver's records."""
        return self.state / 'compute'

    def records(self):
        """Return the driver's records: the true state of the host."""
        path = self.folder / 'records.json'
        return json.loads(path.read_text()) if path.exists() else {'servers': {}, 'mounts': {}, 'images': []}

    def calls(self):
        """Return the calls of the driver, in order."""
        path = self.folder / 'calls'
        return path.read_text().splitlines() if path.exists() else []

    def knob(self, *lines):
        """Set the driver's faults, from now on."""
        (self.folder / 'knobs').write_text('\n'.join(lines))


class Caller:
    """Calls the compute API as one user of a project."""

    def __init__(self, app, project='p', roles='member,reader', user='u', version=NEWEST):
        self.token = f'{user}:{project}:{roles}'
        self._app, self.version = app, version

    def call(self, method, path, body=None, *, version=None, headers=None, below='/v2.1'):
        """Send one request. Return status, document and headers."""
        sent = {'X-Auth-Token': self.token, **(headers or {})}
        if version or self.version:
            sent['OpenStack-API-Version'] = f'compute {version or self.version}'
        text = body if isinstance(body, bytes) else b'' if body is None else json.dumps(body).encode()
        if text:
            sent.setdefault('Content-Type', 'application/json')
        answer = self._app.request(
            f'{below}{path}', method=method, body=text, headers=sent, expect_errors=True
        )
        return answer.status_int, answer.json if answer.body else None, answer.headers

    def ok(self, method, path, body=None, **more):
        """Send a request that must succeed. Return the document."""
        status, document, _ = self.call(method, path, body, **more)
        if status >= 400:
            raise AssertionError(f'{method} {path}: {status} {document}')
        return document

    def refused(self, method, path, body=None, **more):
        """Send a request that must be refused. Return the status and our error code."""
        status, document, _ = self.call(method, path, body, **more)
        if status < 400:
            raise AssertionError(f'{method} {path}: {status} {document}')
        [fault] = document.values()
        if fault['code'] != status:
            raise AssertionError(f'{status} {document}')
        return status, fault['reason']

    def act(self, server_id, action, body=None, **more):
        """Send a server action that must succeed. Return the document."""
        return self.ok('POST', f'/servers/{server_id}/action', {action: body}, **more)

    def wait(self, server_id, *statuses):
        """Poll a server until it has no task and one of these statuses; ``gone`` is one. Return the server."""

        def look():
            status, shown, _ = self.call('GET', f'/servers/{server_id}')
            server = None if status == 404 else shown['server']
            seen[:] = 'gone' if server is None else server['status'], server
            return seen[0] in statuses and (server is None or server['OS-EXT-STS:task_state'] is None)

        seen = []
        waiting.until(look, lambda: f'server {server_id} is {seen}, not {statuses}', pause=0.05)
        return seen[1]

    def attached(self, server_id, share, *statuses):
        """Poll an attachment until it has one of these statuses; ``gone`` is one. Return the attachment."""

        def look():
            status, document, _ = self.call('GET', f'/servers/{server_id}/shares/{share}')
            seen[:] = ('gone', None) if status == 404 else (document['share']['status'], document['share'])
            return seen[0] in statuses

        seen = []
        waiting.until(look, lambda: f'share {share} is {seen}, not {statuses}', pause=0.05)
        return seen[1]

    def server(self, *, until='ACTIVE', **more):
        """Create a server and wait for it. Return its id."""
        body = {'name': 'one', 'kernel': 'vmlinuz', 'memory': 64, **more}
        server_id = self.ok('POST', '/servers', {'server': body})['server']['id']
        if until:
            self.wait(server_id, until)
        return server_id

    def off(self, **more):
        """Create a server and stop it. Return its id."""
        server_id = self.server(**more)
        self.act(server_id, 'os-stop')
        self.wait(server_id, 'SHUTOFF')
        return server_id

    def attach(self, server_id, share, until='inactive', **more):
        """Attach a share and wait for it. Return the attachment in the answer to the POST."""
        made = self.ok('POST', f'/servers/{server_id}/shares', {'share': {'share_id': share, **more}})[
            'share'
        ]
        if until:
            self.attached(server_id, share, until)
        return made


class ComputeTest(ShareServiceTest):
    """A share service and a compute service for the class; each test has a user ``me`` in a project of its own."""

    COMPUTE = ''

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.compute = Compute(cls.url, cls.COMPUTE)
        cls.compute.setUp()
        cls.addClassCleanup(cls.compute.cleanUp)

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()
        self.user = self.caller(self.project)
        self.me = self.on_compute(self.project)

    def on_compute(self, project='p', roles='member,reader', **more):
        """Return a caller in a project."""
        return Caller(self.compute.app, project, roles, **more)

    def shared(self, **more):
        """Create a share of the user; return its id."""
        return self.user.share(**more)['id']

    def knob(self, *lines):
        """Set the driver's faults until the test ends."""
        self.compute.knob(*lines)
        self.addCleanup(self.compute.knob)

    def mounted(self, share_id):
        """Say whether the host has mounted a share."""
        exports = self.user.ok('GET', f'/shares/{share_id}/export_locations')['export_locations']
        return bool({one['path'] for one in exports} & set(self.compute.records()['mounts'].values()))

    def rules(self, share_id):
        """Return the share's access rules as {address: level}."""
        return {rule.to: rule.level for rule in self.shares.rules(share_id)}
