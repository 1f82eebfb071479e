# SPDX-License-Identifier: Apache-2.0
"""A cluster of two nodes with shares mounted by the data-processing service: one node may write, the other read."""

import subprocess

import yaml

from manila_lite import values
from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.tests.services import nodes
from scenarios import clients, settings
from scenarios.beside import Beside
from scenarios.clients import must, must_not
from scenarios.service import Trouble

_PLACE = '/srv/data'
_NAMES = ('node-1', 'node-2')


class Nodes:
    """Guests with an SSH server and the kernel's NFS client, on the network of the share; and a host that can log in there."""

    def __init__(self, state):
        self._state = state
        self._folder = state / settings.BESIDE_FOLDER / 'nodes'
        self._bridge = bridge_of(
            values.ServerNetwork('red-v4', '10.77.1.0/24', 4, network_type='vlan', segmentation_id=10)
        )
        self._nodes = []
        self.key = ''
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
        self.key = inventory[0]['key_file']

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
                self.key,
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
        demo = self.demo
        with demo.step('A share in a network of its own'):
            demo.share_type('True')
            self.share = demo.share(name='demo', share_network_id=demo.network('demo'))
            demo.say(f'exported as {demo.paths(self.share)[0]}')
        with demo.step(
            'Two nodes in that network, and the data-processing service with them in its inventory'
        ):
            demo.beside.append(self.nodes)
            self.nodes.start()
            self.dataproc.start(netns=self.nodes.engine.netns)
            demo.say(
                f'API at {self.dataproc.url}/v2; it reaches the share service as user {settings.SERVICE}'
            )
        with demo.step('A cluster: one group of nodes may write to the share, the other may read'):
            self._make()
        with demo.step('Files in the share, on both nodes'):
            self._files()
        login = f'ssh -i {self.nodes.key} root@{self.addresses["writers"]}'
        return f'ip netns exec {self.nodes.engine.netns} {login}'

    def _make(self):
        groups = [
            {'name': name, 'count': 1, 'shares': [{'id': self.share, 'path': _PLACE, 'access_level': level}]}
            for name, level in (('writers', 'rw'), ('readers', 'ro'))
        ]
        body = {'name': 'demo', 'plugin_name': 'plain', 'plugin_version': '1.0', 'node_groups': groups}
        self.cluster = f'/v2/clusters/{self.dataproc.ask("POST", "/v2/clusters", body)["id"]}'
        self.demo.wait('the cluster is active', self._active)
        for rule in self._rules():
            self.demo.say(f'access rule for {rule["access_to"]}: {rule["access_level"]}, {rule["state"]}')

    def _active(self):
        cluster = self.dataproc.get(self.cluster)
        if cluster['status'] == 'Error':
            raise Trouble(f'the cluster: {cluster["status_description"]}')
        self.addresses = {
            group['name']: node['internal_ip']
            for group in cluster['node_groups']
            for node in group['instances']
        }
        return cluster['status'] == 'Active'

    def _rules(self):
        return self.demo.get(f'/share-access-rules?share_id={self.share}')

    def _files(self):
        demo = self.demo
        writer, reader = self.addresses['writers'], self.addresses['readers']
        must(self._on(writer, f'echo hello from {writer} > {_PLACE}/hello.txt'))
        demo.say(f'it reads: {must(self._on(reader, f"cat {_PLACE}/hello.txt"))!r}')
        demo.say(f'it is refused: {must_not(self._on(reader, f"touch {_PLACE}/mine"), "Read-only")}')
        demo.say(f'it has: {must(self._on(writer, f"grep {_PLACE} /etc/fstab"))}')

    def _on(self, address, line):
        """Show and run a command on a node. Return whether it worked, and its output."""
        self.demo.say(f'{address}$ {line}')
        return self.nodes.on(address, line)

    def delete(self):
        """Delete the cluster, and then the share."""
        demo = self.demo
        with demo.step('Taken back: the cluster is deleted'):
            self.dataproc.delete(self.cluster)
            demo.say(f'access rules left: {len(self._rules())}')
            mounted = must(self._on(self.addresses['writers'], f'grep -c {_PLACE} /proc/mounts || true'))
            demo.say(f'mounts left on the node: {mounted}')
            demo.delete(f'/shares/{self.share}')
