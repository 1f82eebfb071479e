# SPDX-License-Identifier: Apache-2.0
"""Clusters of servers of the compute service over HTTP. Its guests are records on disk, and their mounts are files.

``main`` is a command of the data-processing service with such guests.
"""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import base64
import contextlib
import json
import os
import signal
from pathlib import Path

import fixtures

from manila_lite.siblings.compute import cmd as compute
from manila_lite.siblings.dataproc import remote
from manila_lite.siblings.dataproc.fake import FakeInfra, FakeRemote
from manila_lite.siblings.dataproc.infra.compute import ComputeInfra
from manila_lite.siblings.dataproc.interface import Result
from manila_lite.tests.functional.siblings.compute.base import Caller as ComputeCaller
from manila_lite.tests.functional.siblings.compute.base import Compute
from manila_lite.tests.functional.siblings.dataproc import victim
from manila_lite.tests.functional.siblings.dataproc.base import LOGIN, Dataproc

_NETWORKS = 'networks: [{id: nodes, cidr: 10.88.0.0/16}]'
_COMPUTE = """networks_file = {networks}
max_servers = 500
[compute_fake]
networks = nodes
"""
_NODES = """
[dataproc_nodes]
compute_kernel = vmlinuz
ssh_key_file = {key}
[compute_service]
auth_type = admin_token
endpoint = {url}
token = sahara:service:member,reader
"""


@contextlib.contextmanager
def connect(infra, node):
    """Replace SSH: yield a session on a node that is a directory."""
    (Path(infra.conf.dataproc.fake_directory) / node.ref / 'mounts').mkdir(parents=True, exist_ok=True)
    with FakeInfra.connect(infra, node) as session:
        yield _Session(session.directory)


class _Session(FakeRemote):
    def run(self, argv, data=b'', timeout=None):
        return Result(0)


def main():
    """Run the command of a role of the data-processing service, wrapped."""
    ComputeInfra.connect = connect
    ComputeInfra._ask = _mortal(ComputeInfra._ask)
    return victim.main()


def die_after(conf, method):
    """Make the next process that sends such a request to the compute service die after the answer.

    Returns a file that is gone by then.
    """
    order = Path(conf.dataproc.fake_directory, f'die-{method}')
    order.parent.mkdir(parents=True, exist_ok=True)
    order.touch()
    return order


def _mortal(ask):
    def asked(infra, method, path, **more):
        answer = ask(infra, method, path, **more)
        with contextlib.suppress(FileNotFoundError):
            Path(infra.conf.dataproc.fake_directory, f'die-{method}').unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return asked


class Http(fixtures.Fixture):
    """HTTP server for the API of a compute service; it answers at ``url``."""

    def __init__(self, service):
        super().__init__()
        self._service = service

    def _setUp(self):
        http = compute.COMPUTE.http(self._service.services)
        http.start()
        self.addCleanup(http.stop)
        self.url = f'http://127.0.0.1:{http.port}'


class OnCompute(fixtures.Fixture):
    """A compute service over HTTP (``compute``), and a data-processing service (``dataproc``) whose nodes are its servers.

    ``them``: the caller of the compute service. ``url``: the address of the share service. ``more``: more lines of
    configuration for the data-processing service.
    """

    def __init__(self, url, more=''):
        super().__init__()
        self._url, self._more = url, more

    def _setUp(self):
        self.useFixture(
            fixtures.MonkeyPatch('manila_lite.siblings.dataproc.infra.compute.ComputeInfra.connect', connect)
        )
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'networks.yaml').write_text(_NETWORKS)
        (folder / 'key').write_text(remote.host_key()[0])
        self.compute = self.useFixture(Compute(self._url, _COMPUTE.format(networks=folder / 'networks.yaml')))
        url = self.useFixture(Http(self.compute)).url
        self.them = ComputeCaller(self.compute.app, 'service', user='sahara')
        self.dataproc = self.useFixture(
            Dataproc(
                LOGIN.format(url=self._url) + _NODES.format(key=folder / 'key', url=url) + self._more,
                engine=False,
            )
        )
        self.dataproc.conf.set_override('infra', 'compute', 'dataproc')
        self.dataproc.file.write_text(
            self.dataproc.file.read_text().replace('infra = fake', 'infra = compute')
        )
        self.addCleanup(self.dataproc.stop)

    def servers(self):
        """Return all servers, by their addresses on the network of nodes."""
        servers = self.them.ok('GET', '/servers/detail')['servers']
        return {server['addresses']['nodes'][0]['addr']: server for server in servers if server['addresses']}

    def user_data(self, server_id):
        """Return the user data of a server, parsed."""
        with self.compute.services.db.reader() as conn:
            (spec,) = conn.exec_driver_sql(f"SELECT spec FROM servers WHERE id = '{server_id}'").first()
        head, _, document = base64.b64decode(json.loads(spec)['user_data']).decode().partition('\n')
        assert head == '#cloud-config'
        return json.loads(document)
