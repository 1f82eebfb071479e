# SPDX-License-Identifier: Apache-2.0
"""Small clouds with real storage and client machines, for the scenario tests."""

from collections.abc import Callable, Mapping
from pathlib import Path

from manila_lite.tests.conformance import cloud, lending, machines
from manila_lite.tests.functional.linux import base
from manila_lite.tests.services import daemon
from manila_lite.tests.services.keystone import ADMIN

#: The last parts of the addresses of client machines.
_CLIENTS = (21, 22)
_IN_TEMPEST = str(Path(__file__).parent / 'in_tempest')
#: The backends, each with those that it can send shares to.
_PEERS = {'ALPHA': ['BETA'], 'BETA': ['ALPHA'], 'GAMMA': []}
_BACKEND = """
[{name}]
driver = linux
share_backend_name = {name}
linux_pool_path = {state}/{name}.img
linux_pool_size_gb = 20
linux_graceless = true
linux_peers = {peers}
migration_driver_continue_update_interval = 1
"""
_WITHOUT_SERVERS = """driver_handles_share_servers = false
linux_netns = {netns}
linux_export_ips = {addresses}
"""
_WITH_SERVERS = """driver_handles_share_servers = true
linux_fabric_netns = {netns}
"""
_NETWORKS = """
networks:
- id: guests
  network_type: vlan
  segmentation_id: 11
  subnets:
  - {id: four, cidr: 10.99.0.0/24, ranges: [[10.99.0.100, 10.99.0.200]]}
  - {id: six, cidr: 'fd99::/64', ranges: [['fd99::100', 'fd99::200']]}
"""
#: Abilities of the backends that can send shares.
_ABILITIES = (
    'snapshot_support',
    'create_share_from_snapshot_support',
    'revert_to_snapshot_support',
    'mount_snapshot_support',
    'snapshot_inherit_share_access_support',
)


class LinuxCloud(cloud.Cloud):
    """Backends without share servers, and two client machines, on one bridge."""

    TESTS = (_IN_TEMPEST, _IN_TEMPEST)
    #: A test borrows up to two machines, and there are no more.
    WORKERS = 1
    MORE = 'default_share_type = default\n'
    #: The bridge, and the last parts of the addresses of file servers.
    FABRIC: Callable[..., base.Fabric] = base.Fabric
    HOSTS: Mapping[str, int] = {'alpha': 1, 'beta': 2, 'gamma': 3}
    SERVING = False

    def __init__(self, *more: str) -> None:
        super().__init__('scenario')
        self.settings = ('both', 'scenario', *more)

    def _setUp(self) -> None:
        if lacks := machines.missing():
            raise daemon.Missing(f'scenario tests need {lacks}; tools/setup-env --guests puts it in place')
        self.fabric = self.FABRIC(**self.HOSTS)
        self.addCleanup(self.fabric.down)
        self.fabric.up()
        place = self.fabric.name('fabric'), self.fabric.BRIDGE
        clients = [
            self.useFixture(machines.Machine(*place, number, (f'10.99.0.{last}/24', f'fd99::{last}/64')))
            for number, last in enumerate(_CLIENTS)
        ]
        super()._setUp()
        self._make_default_type()
        for client in clients:
            client.boot()
        lender = self.useFixture(lending.Lender(self.state / 'guests', clients))
        self.ENVIRONMENT = {'GUESTS': str(lender.path)}

    def _make_default_type(self) -> None:
        """Make a type. Tests make their own, but look for a backend with exactly its abilities to send a share to."""
        specs = {'driver_handles_share_servers': str(self.SERVING), **dict.fromkeys(_ABILITIES, 'True')}
        self.keystone.connect(ADMIN, ADMIN).session.post(
            f'{self.url}/types', json={'share_type': {'name': 'default', 'extra_specs': specs}}
        )

    def backends(self) -> Mapping[str, str]:
        """Return their sections, and have a later end of the cloud remove all that they leave on the machine."""
        self.addCleanup(self._power_off)
        return {
            name: _BACKEND.format(
                name=name,
                state=self.state,
                peers=','.join(f'conformance@{peer}:{self.state}/c.conf' for peer in _PEERS[name]),
            )
            + how
            for name, how in self.ways().items()
        }

    def ways(self) -> Mapping[str, str]:
        """Return how each backend is reached, as lines of its section.

        The published tests of unmanaged shares take the first export location: over IPv6 they need a backend without IPv4.
        """
        four, six = self.fabric.v4, self.fabric.v6
        addresses = {'alpha': (four, six), 'beta': (four, six), 'gamma': (six,)}
        return {
            host.upper(): _WITHOUT_SERVERS.format(
                netns=self.fabric.name(host), addresses=','.join(address(host) for address in found)
            )
            for host, found in addresses.items()
        }

    def _power_off(self) -> None:
        servers = [f'manila-{folder.name}' for folder in self.state.glob('**/servers/*')]
        base.power_off(self.state, [f'{name}.img' for name in _PEERS], servers)


class ServerCloud(LinuxCloud):
    """Backends with share servers, and two client machines on the bridge of their network."""

    class _Fabric(base.Fabric):
        BRIDGE = 'vlan11'

    NETWORKS = _NETWORKS
    FABRIC = _Fabric
    HOSTS = {}
    SERVING = True

    def __init__(self) -> None:
        super().__init__('scenario-dhss')

    def ways(self) -> Mapping[str, str]:
        """Return how each backend is reached: their fabric is where the guests are."""
        return dict.fromkeys(('ALPHA', 'BETA'), _WITH_SERVERS.format(netns=self.fabric.name('fabric')))
