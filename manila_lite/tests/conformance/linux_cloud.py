# SPDX-License-Identifier: Apache-2.0
"""A small cloud with real storage and client machines, for the scenario tests."""

from collections.abc import Mapping
from pathlib import Path

from manila_lite.tests.conformance import cloud, lending, machines
from manila_lite.tests.functional.linux import base
from manila_lite.tests.services import daemon
from manila_lite.tests.services.keystone import ADMIN

_BOTH, _SIX = (base.Fabric.v4, base.Fabric.v6), (base.Fabric.v6,)
#: Backends by name, each with the namespace of its file server, the backends it can send shares to, and its addresses. The
#: published tests of unmanaged shares take the first export location, so those over IPv6 need a backend without IPv4.
_BACKENDS = {'ALPHA': ('alpha', ['BETA'], _BOTH), 'BETA': ('beta', ['ALPHA'], _BOTH), 'GAMMA': ('gamma', [], _SIX)}
#: The last parts of the addresses of client machines.
_CLIENTS = (21, 22)
_IN_TEMPEST = str(Path(__file__).parent / 'in_tempest')

_BACKEND = """
[{name}]
driver = linux
share_backend_name = {name}
driver_handles_share_servers = false
linux_pool_path = {state}/{name}.img
linux_pool_size_gb = 20
linux_graceless = true
linux_netns = {netns}
linux_export_ips = {addresses}
linux_peers = {peers}
migration_driver_continue_update_interval = 1
"""
#: Abilities of both backends that can send shares.
_ABILITIES = ('snapshot_support', 'create_share_from_snapshot_support', 'revert_to_snapshot_support', 'mount_snapshot_support',
              'snapshot_inherit_share_access_support')
#: The default type. Tests make their own, but look for a backend with exactly its abilities, said or not, to send shares to.
_TYPE = {'share_type': {'name': 'default', 'extra_specs': {
    'driver_handles_share_servers': 'False', **dict.fromkeys(_ABILITIES, 'True')}}}


class LinuxCloud(cloud.Cloud):
    """Backends without share servers, and two client machines, on one bridge."""

    TESTS = (_IN_TEMPEST, _IN_TEMPEST)
    #: A test borrows up to two machines, and there are no more.
    WORKERS = 1
    MORE = 'default_share_type = default\n'

    def __init__(self) -> None:
        super().__init__('scenario')

    def _setUp(self) -> None:
        if lacks := machines.missing():
            raise daemon.Missing(f'scenario tests need {lacks}; tools/setup-env --tests puts it in place')
        self.fabric = base.Fabric(**{netns: number for number, (netns, _, _) in enumerate(_BACKENDS.values(), 1)})
        self.addCleanup(self.fabric.down)
        self.fabric.up()
        bridge = self.fabric.name('fabric')
        clients = [self.useFixture(machines.Machine(bridge, number, (f'10.99.0.{last}/24', f'fd99::{last}/64')))
                   for number, last in enumerate(_CLIENTS)]
        super()._setUp()
        self.keystone.connect(ADMIN, ADMIN).session.post(f'{self.url}/types', json=_TYPE)
        for client in clients:
            client.boot()
        lender = self.useFixture(lending.Lender(self.state / 'guests', clients))
        self.ENVIRONMENT = {'GUESTS': str(lender.path)}

    def backends(self) -> Mapping[str, str]:
        """Return their sections, and have a later end of the cloud remove all that they leave on the machine."""
        images = [f'{name}.img' for name in _BACKENDS]
        self.addCleanup(base.power_off, self.state, images)
        return {name: _BACKEND.format(
            name=name, state=self.state, netns=self.fabric.name(netns),
            peers=','.join(f'conformance@{peer}:{self.state}/c.conf' for peer in peers),
            addresses=','.join(address(self.fabric, netns) for address in addresses))
            for name, (netns, peers, addresses) in _BACKENDS.items()}
