# SPDX-License-Identifier: Apache-2.0
"""Base of tests of the data-processing service: it runs beside a real share service, with nodes that are directories."""

import json
import shutil
from pathlib import Path

import fixtures
import webtest
from oslo_config import cfg

from manila_lite.siblings.dataproc import cmd
from manila_lite.siblings.dataproc.db import models
from manila_lite.siblings.dataproc.engine import Engine
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.siblings.share_service import ShareServiceTest, register_messaging
from manila_lite.tests.schemas import newest_schema
from manila_lite.tests.services import places

CONFIG = """
[DEFAULT]
state_path = {state}
host = test
auth_strategy = noauth
transport_url = {bus}
[api]
response_validation = true
[database]
connection = {database}
sqlite_synchronous_full = false
[operations]
poll_interval = 0.2
retry_delay = 0.05
lease = 10
[share_service]
{login}
status_code_retry_delay = 0.05
connect_retry_delay = 0.05
[dataproc]
listen = 127.0.0.1
listen_port = 0
infra = fake
handlers = NFS:fake
fake_directory = {state}/nodes
check_interval = 0
attempts = 2
retry_delay = 0.05
"""


#: Options with which the service logs in at a share service without Keystone.
LOGIN = """auth_type = admin_token
endpoint = {url}/v2
token = sahara:service:service
"""


class Dataproc(fixtures.Fixture):
    """Data-processing service with API and engine. ``login``: lines of ``[share_service]``; ``nodes``: folder of the
    nodes.
    """

    def __init__(self, login, engine=True):
        super().__init__()
        self._login, self._engine = login, engine

    def _setUp(self):
        state = Path(self.useFixture(fixtures.TempDir()).path)
        self.nodes = state / 'nodes'
        self.file = state / 'dataproc.conf'
        self.file.write_text(
            CONFIG.format(
                state=state,
                login=self._login,
                bus=self.useFixture(places.EmptyBus()).url,
                database=self.useFixture(places.EmptyDatabase(state)).url,
            )
        )
        self.conf = cmd.SIBLING.configure([f'--config-file={self.file}'], conf=cfg.ConfigOpts())
        register_messaging(self.conf)
        self.services = cmd.SIBLING.services(self.conf)
        self.addCleanup(self.services.db.dispose)
        self.addCleanup(self.services.bus.close, 1)
        newest_schema(self.services.db, models.metadata)
        self.app = webtest.TestApp(cmd.SIBLING.wsgi(self.services))
        self.engine = None
        if self._engine:
            self.start()
            self.addCleanup(self.stop)

    def start(self):
        """Start an engine."""
        self.engine = Engine(self.services)
        self.engine.start()

    def stop(self):
        """Stop the engine, if it runs."""
        if self.engine is not None:
            self.engine.stop()
            self.engine = None

    def clear(self):
        """Stop the engine, and delete all rows and nodes."""
        self.stop()
        with self.services.db.writer() as conn:
            for table in reversed(models.metadata.sorted_tables):
                conn.execute(table.delete())
        shutil.rmtree(self.nodes, ignore_errors=True)
        self.conf.clear_override('fake_nodes', 'dataproc')

    def mounted(self, node=None):
        """Return the mounts as (path, level): by node and share, or by share on one node."""
        mounts = {place.parent.name: {} for place in self.nodes.glob('*/mounts')} if node is None else {}
        for place in self.nodes.glob('*/mounts/*'):
            _, path, level = json.loads(place.read_text())
            mounts.setdefault(place.parents[1].name, {})[place.name] = (path, level)
        return mounts if node is None else mounts.get(node, {})


class Caller:
    """Calls the data-processing API as one user of a project."""

    def __init__(self, app, project='p', roles='member,reader', user='u'):
        self.token = f'{user}:{project}:{roles}'
        self._app = app

    def call(self, method, path, body=None, *, version='v2', headers=None):
        """Send one request. Return status and document."""
        sent = {'X-Auth-Token': self.token, **(headers or {})}
        text = body if isinstance(body, bytes) else b'' if body is None else json.dumps(body).encode()
        if text:
            sent['Content-Type'] = 'application/json'
        answer = self._app.request(
            f'/{version}{path}', method=method, body=text, headers=sent, expect_errors=True
        )
        return answer.status_int, answer.json if answer.body else None

    def ok(self, method, path, body=None, **more):
        """Send a request that must succeed. Return the document."""
        status, document = self.call(method, path, body, **more)
        if status >= 400:
            raise AssertionError(f'{method} {path}: {status} {document}')
        return document

    def refused(self, method, path, body=None, **more):
        """Send a request that must be refused. Return status, name and message of the error."""
        status, document = self.call(method, path, body, **more)
        if status < 400 or document['error_code'] != status:
            raise AssertionError(f'{method} {path}: {status} {document}')
        return status, document['error_name'], document['error_message']

    def wait(self, cluster_id, *statuses):
        """Poll a cluster until it has one of these statuses; ``gone`` is one. Return the cluster."""

        def look():
            status, document = self.call('GET', f'/clusters/{cluster_id}?show_progress=True')
            seen[:] = (
                ('gone', None) if status == 404 else (document['cluster']['status'], document['cluster'])
            )
            if seen[0] not in statuses and seen[0] in ('Active', 'Error'):
                raise AssertionError(told())
            return seen[0] in statuses

        def told():
            return f'the cluster is {seen}, not {statuses}'

        seen = []
        waiting.until(look, told, pause=0.1)
        return seen[1]


def group(name='workers', count=2, **more):
    """Return a node group as a client sends it."""
    return {'name': name, 'count': count, **more}


class DataprocTest(ShareServiceTest):
    """A share service and a data-processing service that is empty at the start of each test; ``me`` is its user."""

    #: Whether an engine runs from the start.
    ENGINE = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dataproc = Dataproc(LOGIN.format(url=cls.url), engine=False)
        cls.dataproc.setUp()
        cls.addClassCleanup(cls.dataproc.cleanUp)

    def setUp(self):
        super().setUp()
        self.me = Caller(self.dataproc.app)
        self.addCleanup(self.dataproc.clear)
        if self.ENGINE:
            self.dataproc.start()

    def shared(self, **more):
        """Create a share of the user; return its id."""
        return self.user.share(**more)['id']

    def make(self, *groups, wait=('Active',), name='one', **more):
        """Create a cluster. Return it when it has one of the statuses."""
        cluster = self.me.ok(
            'POST',
            '/clusters',
            {
                'name': name,
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'node_groups': list(groups) or [group()],
                **more,
            },
        )['cluster']
        return self.me.wait(cluster['id'], *wait) if wait else cluster

    def rules(self, share_id):
        """Return the share's access rules as {address: level}."""
        return {rule.to: rule.level for rule in self.shares.rules(share_id)}


__all__ = ['LOGIN', 'Caller', 'Dataproc', 'DataprocTest', 'base', 'group']
