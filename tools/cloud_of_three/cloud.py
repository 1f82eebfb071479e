# SPDX-License-Identifier: Apache-2.0
"""The whole cloud: what it consists of, its start, its end, and what runs."""

import concurrent.futures
import contextlib
import ctypes
import importlib
import os
import secrets
import shutil
import sys
import time
from pathlib import Path

from cloud_of_three import balancer, broker, hosts, identity, services, storage
from manila_lite.tests import process, waiting
from manila_lite.tests.functional.linux.failover_base import _TYPE as TYPE

_NET = '10.90.0'
CLIENT_ADDRESS = f'{services.RANGE}.101'
#: Classes of the kinds of databases, by module. The first one that is here is the default.
DATABASES = {
    module: name
    for module, name in {'galera': 'Galera', 'single': 'Single', 'postgresql': 'PostgreSQL'}.items()
    if Path(__file__).with_name(f'{module}.py').exists()
}
DEFAULT = next(iter(DATABASES))
#: Share networks; a share server moves between the last two.
_NETWORKS = 'data', 'here', 'there'
_CLONE_NEWNET = 0x40000000


class Cloud:
    """The cloud of a directory. Nothing is started or made before ``up``."""

    def __init__(self, state, database=DEFAULT):
        self.state = state
        self.password = self._noted('password', secrets.token_hex(12))
        self.kind = self._noted('database-kind', database)
        self.switch = hosts.Host(state, 'switch', None)
        self.front = self._host('front', 10)
        self.controllers = [self._host(f'control{number}', 10 + number) for number in (1, 2, 3)]
        self.storage = [self._host(f'stor{number}', 20 + number) for number in (1, 2)]
        self.client = self._host('client', 31)
        self.hosts = [self.front, *self.controllers, *self.storage, self.client]
        module = importlib.import_module(f'cloud_of_three.{self.kind}')
        self.database = getattr(module, DATABASES[self.kind])(self.controllers, self.password)
        self.broker = broker.RabbitMQ(self.controllers, self.password)
        self.identity = identity.Identity(self.controllers, self.front, state, self.password)
        self.balancer = balancer.HAProxy(
            self.front, self.controllers, [*self.storage, self.client], self.database.haproxy
        )
        self.services = None

    def _noted(self, name, value):
        """Return what is noted in the directory; note the value first if nothing is."""
        file = self.state / name
        if not file.exists():
            file.touch(0o600)
            file.write_text(value)
        return file.read_text()

    def _host(self, name, number):
        return hosts.Host(self.state, name, f'{_NET}.{number}')

    # Start ------------------------------------------------------------------------------------------

    def up(self, step=lambda title: contextlib.nullcontext(), earlier=False):
        """Start all that does not run; ``earlier``: a new cloud begins with an earlier release of the share service."""
        with step('Hosts: namespaces on one bridge, and disks that both storage hosts reach'):
            self._boot()
        with step(f'Database ({self.kind}), RabbitMQ, Keystone and HAProxy'):
            self._start_others()
            self.identity.fill()
        with step('The share service: three APIs, three schedulers, two share managers'):
            self._services()
            if earlier:
                self.services.begin_earlier()
            self.services.start()
        with step('Share type and share network'):
            self._fill()

    def _boot(self):
        (self.state / 'lib').mkdir(0o700, exist_ok=True)
        lines = [f'{host.address} {host.name}' for host in self.hosts]
        (self.state / 'names').write_text('\n'.join(['127.0.0.1 localhost', *lines, '']))
        self.devices = storage.attach(self.state)
        if not self.switch.is_up():
            self.switch.boot(None)
            self.switch.add_bridge()
        for host in self.controllers:
            storage.give_disk(self.state, host)
        for host in self.hosts:
            if host.is_up():
                continue
            host.boot(self.switch)
            if host in self.storage:
                host.add_fabric(self.switch)
            if host is self.client:
                host.run('ip', 'address', 'add', f'{CLIENT_ADDRESS}/24', 'dev', 'eth0')
        self.enter()

    def enter(self):
        """Have this thread, and what it starts, in the network of the client: that is where the cloud's users are."""
        with self.client.network.open() as there:
            if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), 'setns')

    def _start_others(self):
        parts = self.database, self.broker, self.identity, self.balancer
        with concurrent.futures.ThreadPoolExecutor(initializer=self.enter) as pool:
            for started in [pool.submit(part.start) for part in parts]:
                started.result()

    def _services(self):
        self.services = services.Services(
            self.state,
            self.controllers,
            self.storage,
            storage.attach(self.state),
            broker=self.broker.url,
            database=self.database.url,
            identity=self.identity.section,
            tuning=getattr(self.database, 'options', ''),
        )
        return self.services

    def _fill(self):
        if not (self.state / 'clouds.yaml').exists():
            admin = self.api('admin')
            waiting.until(admin.pools, 'pools of both backends', ignoring=(OSError, AssertionError))
            if not admin.ok('GET', '/types')['share_types']:
                admin.ok('POST', '/types', TYPE)
            self.share_networks()
            (self.state / 'clouds.yaml').touch(0o600)
            (self.state / 'clouds.yaml').write_text(self.identity.clouds())

    def share_networks(self):
        """Return the ids of three share networks of the project ``demo``; they are made if they are not there."""
        demo = self.api('demo')
        found = {one['name']: one['id'] for one in demo.ok('GET', '/share-networks')['share_networks']}
        for name in [one for one in _NETWORKS if one not in found]:
            where = {'neutron_net_id': services.NETWORK, 'neutron_subnet_id': services.SUBNET}
            made = demo.ok('POST', '/share-networks', {'share_network': {'name': name, **where}})
            found[name] = made['share_network']['id']
        return [found[name] for name in _NETWORKS]

    def api(self, user):
        """Return a client of the API, through the front, of a user in the project of the same name."""
        return Api(self.front.address, self.identity.connect(user, user).session)

    # Look -------------------------------------------------------------------------------------------

    def status(self):
        """Yield (host, program, process id; None if it does not run; 0 if the host is off)."""
        for host in self.hosts:
            if not host.is_up():
                yield host.name, '-', 0
            for name in host.started() if host.is_up() else ():
                program = host.program(name)
                yield host.name, name, program.pid if program else None

    def problems(self):
        """Return lines about all that does not run or work."""
        lines = [f'{host}: {program} does not run' for host, program, pid in self.status() if not pid]
        return lines + self.database.problems() + self.broker.problems()


class Api(process.Parts):
    """Requests through the front, and waits for their results."""

    def __init__(self, address, login):
        super().__init__()
        self._url, self._login = f'http://{address}:{balancer.API_PORT}', login

    def call(self, method, path, body=None, version='2.82', prefix='/v2', token=None):
        """Send a request; returns (status, document). No answer at all is an OSError."""
        headers = {'X-OpenStack-Manila-API-Version': version, 'X-OpenStack-Manila-API-Experimental': 'true'}
        try:
            answer = self._login.request(
                f'{self._url}{prefix}{path}', method, json=body, headers=headers, raise_exc=False, timeout=60
            )
        except Exception as bad:
            raise OSError(f'{method} {path}: {bad}') from bad
        text = answer.text
        return answer.status_code, answer.json() if text[:1] in ('{', '[') else None

    def tail(self):
        """Return nothing: logs are in the folders of the hosts."""
        return ''


def down(state):
    """End everything of a cloud, and remove its directory."""
    hosts.power_off_all(state)
    storage.detach(state)
    shutil.rmtree(state)


@contextlib.contextmanager
def timed(title):
    """Show a step and its time."""
    print(f'  {title} ...', flush=True)
    start = time.monotonic()
    yield
    print(f'    {time.monotonic() - start:.1f} s', flush=True)


def usage(cloud):
    """Return lines on how to use the cloud."""
    return [
        f'clouds.yaml: {cloud.state}/clouds.yaml; clouds {identity.CLOUD} and {identity.CLOUD}-admin.',
        'Only its hosts reach its network. From the client host:',
        '  tools/cloud run openstack share create NFS 1 --share-network data --wait',
        f'  tools/cloud run openstack --os-cloud {identity.CLOUD}-admin share service list',
        '  tools/cloud on control1 rabbitmqctl cluster_status',
        f'Logs: {cloud.state}/hosts/HOST/PROGRAM/out. The end: tools/cloud down',
    ]


def administration(cloud, host):
    """Return the environment of commands of an administrator on a host: rabbitmqctl and manila-manage find what is theirs."""
    program = services.SHARE if host in cloud.storage else services.API
    path = f'/usr/lib/rabbitmq/bin:{environment(cloud)["PATH"]}'
    return os.environ | {
        'PATH': path,
        'HOME': str(host.home(program)),
        'RABBITMQ_ERLANG_COOKIE': cloud.password,
    }


def environment(cloud):
    """Return the environment of commands of the cloud's users."""
    path = f'{os.path.dirname(sys.executable)}:{os.environ["PATH"]}'
    return os.environ | {
        'PATH': path,
        'OS_CLIENT_CONFIG_FILE': f'{cloud.state}/clouds.yaml',
        'OS_CLOUD': identity.CLOUD,
    }
