# SPDX-License-Identifier: Apache-2.0
"""A cluster of two nodes with shares mounted by the data-processing service: one node may write, the other read."""

import subprocess

import yaml

from manila_lite import values
from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.tests.services import nodes
from scenarios import clients, settings
from scenarios.beside import Beside
from scenarios.leftovers import place_of
from scenarios.nfs import must_not
from scenarios.service import Trouble

_PLACE = '/srv/data'
_NAMES = ('node-1', 'node-2')


class Nodes:
    """Guests with an SSH server and the kernel's NFS client, on the network of the share; and a host that can log in there."""

    command = 'nodes'

    def __init__(self, state):
        self._state = state
        self._folder = place_of(state) / 'nodes'
        self._bridge = bridge_of(
            values.ServerNetwork('red-v4', '10.77.1.0/24', 4, network_type='vlan', segmentation_id=10)
        )
        self._nodes = []
        self._key = ''
        self.engine = None

    def start(self):
        """Start the nodes, and write the inventory when they answer."""
        self._folder.mkdir(parents=True)
        prefix = settings.prefix(self._state)
        image = nodes.Image(self._folder)
        for number, name in enumerate(_NAMES, 31):
            self._nodes.append(
                nodes.Node(image, name, f'{prefix}-fabric', self._bridge, f'10.77.1.{number}/24')
            )
        self.engine = clients.Host(prefix, 'engine', self._bridge, '10.77.1.101', 24)
        for node in self._nodes:
            node.wait()
        inventory = [{'name': node.name, **node.inventory()} for node in self._nodes]
        (self._state / 'inventory.yaml').write_text(yaml.safe_dump({'nodes': inventory}))
        (self._folder / 'known_hosts').write_text(
            ''.join(f'{node["address"]} {node["host_key"]}\n' for node in inventory)
        )
        self._key = inventory[0]['key_file']

    def on(self, address, *words):
        """Run a command on a node by SSH. Return whether it worked, and its output."""
        done = subprocess.run(
            [
                'ip',
                'netns',
                'exec',
                self.engine.netns,
                'ssh',
                '-F',
                'none',
                '-i',
                self._key,
                '-o',
                'ConnectTimeout=60',
                '-o',
                f'UserKnownHostsFile={self._folder}/known_hosts',
                f'root@{address}',
                *words,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return not done.returncode, (done.stdout or done.stderr).strip()

    def way(self, address):
        """Return the command to log in on a node by hand."""
        return f'ip netns exec {self.engine.netns} ssh -i {self._key} root@{address}'

    def stop(self):
        """End the nodes."""
        for node in self._nodes:
            node.end()


class Cluster:
    """The scenario, with its steps in their order."""

    def __init__(self, demo):
        self.demo = demo
        if lacks := nodes.missing():
            raise Trouble(f'nodes need {lacks}')
        self.nodes = Nodes(demo.state)
        self.dataproc = Beside(demo, 'mlite-dataproc', settings.DATAPROC, 8386)
        self.share = self.path = self.cluster = ''
        self.addresses = {}

    def through(self):
        """Run all steps but the deletion. Return the command to log in on a node by hand."""
        self._share()
        self._begin()
        self._make()
        self._files()
        return self.nodes.way(self.addresses['writers'])

    def _share(self):
        demo = self.demo
        with demo.step('A share in a network of its own'):
            demo.ask(
                'POST',
                '/types',
                {'share_type': {'name': 'default', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
                user=settings.ADMIN,
            )
            network = demo.ask(
                'POST',
                '/share-networks',
                {'share_network': {'name': 'demo', 'neutron_net_id': 'red', 'neutron_subnet_id': 'red-v4'}},
            )['id']
            self.share = demo.share(name='demo', share_network_id=network)
            self.path = demo.api('GET', f'/shares/{self.share}/export_locations')[1]['export_locations'][0][
                'path'
            ]
            demo.say(f'exported as {self.path}')

    def _begin(self):
        demo = self.demo
        with demo.step(
            'Two nodes in that network, and the data-processing service with them in its inventory'
        ):
            demo.beside.append(self.nodes)
            self.nodes.start()
            self.dataproc.start(netns=self.nodes.engine.netns)
            demo.say(
                f'API at {self.dataproc.url}/v2; it reaches the share service as user {settings.SERVICE}'
            )

    def _make(self):
        demo = self.demo
        with demo.step('A cluster: one group of nodes may write to the share, the other may read'):
            made = self.dataproc.ask(
                'POST',
                '/v2/clusters',
                {
                    'name': 'demo',
                    'plugin_name': 'plain',
                    'plugin_version': '1.0',
                    'node_groups': [
                        {'name': 'writers', 'count': 1, 'shares': [{'id': self.share, 'path': _PLACE}]},
                        {
                            'name': 'readers',
                            'count': 1,
                            'shares': [{'id': self.share, 'path': _PLACE, 'access_level': 'ro'}],
                        },
                    ],
                },
            )
            self.cluster = made['id']
            demo.wait('the cluster is active', self._active, 300)
            for rule in self._rules():
                demo.say(f'access rule for {rule["access_to"]}: {rule["access_level"]}, {rule["state"]}')

    def _active(self):
        cluster = self.dataproc.get(f'/v2/clusters/{self.cluster}')
        if cluster['status'] == 'Error':
            raise Trouble(f'the cluster: {cluster["status_description"]}')
        self.addresses = {
            group['name']: node['internal_ip']
            for group in cluster['node_groups']
            for node in group['instances']
        }
        return cluster['status'] == 'Active'

    def _rules(self):
        return self.demo.api('GET', f'/share-access-rules?share_id={self.share}')[1]['access_list']

    def _files(self):
        demo = self.demo
        writer, reader = self.addresses['writers'], self.addresses['readers']
        with demo.step('Files in the share, on both nodes'):
            self._on(writer, f'echo hello from {writer} > {_PLACE}/hello.txt')
            demo.say(f'it reads: {self._on(reader, f"cat {_PLACE}/hello.txt")!r}')
            line = f'touch {_PLACE}/mine'
            demo.say(f'{reader}$ {line}')
            demo.say(f'it is refused: {must_not(self.nodes.on(reader, line), "Read-only")}')
            demo.say(f'it has: {self._on(writer, f"grep {_PLACE} /etc/fstab")}')

    def _on(self, address, line):
        """Show and run a command on a node, which must succeed. Return its output."""
        self.demo.say(f'{address}$ {line}')
        worked, said = self.nodes.on(address, line)
        if not worked:
            raise Trouble(f'{line}, on {address}: {said}')
        return said

    def delete(self):
        """Delete the cluster, and then the share."""
        demo = self.demo
        with demo.step('Taken back: the cluster is deleted'):
            self.dataproc.get(f'/v2/clusters/{self.cluster}', 'DELETE')
            demo.wait(
                'the cluster is gone',
                lambda: self.dataproc.api('GET', f'/v2/clusters/{self.cluster}')[0] == 404,
                300,
            )
            demo.say(f'access rules left: {len(self._rules())}')
            mounted = self._on(self.addresses['writers'], f'grep -c {_PLACE} /proc/mounts || true')
            demo.say(f'mounts left on the node: {mounted}')
            demo.unshare(self.share)

    def picture(self):
        """Return no lines."""
        return []
