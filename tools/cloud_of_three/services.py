# SPDX-License-Identifier: Apache-2.0
"""The share service: API and scheduler on each controller, a share manager on each storage host, for the same backends."""

import sys
from pathlib import Path

import manila_lite
from cloud_of_three.balancer import API_PORT
from manila_lite.tests.upgrade import release_before

_ROOT = Path(manila_lite.__file__).parents[1]
#: What a rolling upgrade begins with. The release before this one has no failover, which this cloud is about.
_EARLIER = release_before.Release('0.2.0.dev0', '56a2d8c93dfe50834b0a9160ed15baa4df833655')
_PIN = """
[upgrade_levels]
operations = {}
"""
API, SCHEDULER, SHARE = 'manila-api', 'manila-scheduler', 'manila-share'
_MODULES = {API: 'api', SCHEDULER: 'scheduler', SHARE: 'share'}
_CONFIG = """[DEFAULT]
host = {name}
state_path = {state}/lib
transport_url = {broker}
default_share_type = default
enabled_share_protocols = NFS
osapi_share_listen = {address}
osapi_share_listen_port = {port}
osapi_share_workers = 1
{identity}
[database]
connection = {database}
max_pool_size = 5
{tuning}
[secrets]
key_file = {state}/secrets.key

[operations]
lease = 15

[standalone_network]
file = {state}/networks.yaml
"""
_BACKEND = """
[{name}]
driver = linux
driver_handles_share_servers = true
linux_pool_path = {device}
linux_pool_fence = guard
linux_fabric_netns = fabric
linux_grace_period = 20
"""
#: The network of shares, and its addresses for share servers.
NETWORK, SUBNET, RANGE = 'net-data', 'data', '10.66.1'
NETWORKS = f"""networks:
- {{id: {NETWORK}, network_type: vlan, segmentation_id: 11,
   subnets: [{{id: {SUBNET}, cidr: {RANGE}.0/24, ranges: [[{RANGE}.5, {RANGE}.99]]}}]}}
"""


class Services:
    """All of them. ``parts``: the others of the cloud, by their names in the configuration."""

    programs = (API, SCHEDULER, SHARE)

    def __init__(self, state, controllers, storage, devices, **parts):
        self.state, self.controllers, self.storage = state, controllers, storage
        self._devices, self._parts = devices, parts
        self._before = release_before.Tree(_EARLIER)
        self._before.path = state / 'earlier'

    # Releases ---------------------------------------------------------------------------------------

    def _note(self, host, program):
        """Return the file that is there while a program of a host is of the earlier release."""
        return self.state / 'earlier-programs' / f'{host.name}.{program}'

    def is_earlier(self):
        """Say whether any program is of the earlier release."""
        return any((self.state / 'earlier-programs').glob('*'))

    def begin_earlier(self):
        """Have all programs, and the tables, begin with the earlier release."""
        for host, program in self._all():
            self._set(host, program, earlier=True)

    def _set(self, host, program, earlier):
        note = self._note(host, program)
        note.parent.mkdir(exist_ok=True)
        if earlier:
            note.touch()
        else:
            note.unlink(missing_ok=True)

    def _earlier_tree(self):
        if not self._before.path.exists():
            self._before.path.mkdir()
            self._before.unpack()
        return self._before

    def _tree(self, host, program):
        return self._earlier_tree().path if self._note(host, program).exists() else _ROOT

    def _all(self):
        """Return (host, program) of each, in the order of an upgrade."""
        controllers = [(host, program) for program in (API, SCHEDULER) for host in self.controllers]
        return controllers + [(host, SHARE) for host in self.storage]

    def change(self, earlier):
        """Bring each program in turn to the earlier release, or to this one; the caller starts it again after each yield."""
        if not earlier:
            self.manage('db', 'sync')
        for host, program in reversed(self._all()) if earlier else self._all():
            self._set(host, program, earlier)
            host.end(program)
            yield

    # Start ------------------------------------------------------------------------------------------

    def _configuration(self, host, name):
        backends = self._devices if host in self.storage else {}
        pin = _PIN.format(self._earlier_tree().wake_ups) if self.is_earlier() else ''
        text = _CONFIG.format(name=name, state=self.state, address=host.address, port=API_PORT, **self._parts)
        if backends:
            text = text.replace('[DEFAULT]', f'[DEFAULT]\nenabled_share_backends = {",".join(backends)}', 1)
        return (
            text
            + pin
            + ''.join(_BACKEND.format(name=name, device=device) for name, device in backends.items())
        )

    def start(self):
        """Start each one that does not run; wait until the APIs answer. The tables are made before the first start."""
        (self.state / 'networks.yaml').write_text(NETWORKS)
        made = self.state / 'tables'
        if not made.exists():
            self.manage('db', 'sync', earlier=self.is_earlier())
            made.touch()
        for host in self.controllers:
            self._start(host, API, host.name)
            self._start(host, SCHEDULER, host.name)
        for host in self.storage:
            self._start(host, SHARE, 'stor')
        for host in self.controllers:
            host.serves(API, API_PORT)

    def _start(self, host, program, name):
        config = host.write(program, 'manila_lite.conf', self._configuration(host, name))
        host.start(
            program,
            [sys.executable, '-m', f'manila_lite.cmd.{_MODULES[program]}', f'--config-file={config}'],
            env={'PYTHONPATH': str(self._tree(host, program)), **host.own_clock()},
        )

    def manage(self, *words, earlier=False):
        """Run a command of manila-manage on the first controller that is up; return its output."""
        tree = self._earlier_tree().path if earlier else _ROOT
        host = next(host for host in self.controllers if host.is_up())
        config = host.write('manila-manage', 'manila_lite.conf', self._configuration(host, host.name))
        return host.complete(
            'manila-manage',
            [sys.executable, '-m', 'manila_lite.cmd.manage', f'--config-file={config}', *words],
            env={'PYTHONPATH': str(tree)},
        )
