# SPDX-License-Identifier: Apache-2.0
"""A cluster through the data-processing API. Its nodes are real guests, made through the compute API, on the network
of a share server.
"""

import contextlib
import unittest

import psutil

from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.siblings.dataproc import remote, steps
from manila_lite.siblings.dataproc.db import store
from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import api_base, base, server_base
from manila_lite.tests.functional.siblings.compute import test_qemu_driver
from manila_lite.tests.functional.siblings.compute.base import Caller as ComputeCaller
from manila_lite.tests.functional.siblings.compute.base import Compute
from manila_lite.tests.functional.siblings.dataproc.base import (
    LOGIN,
    Caller,
    Dataproc,
    group,
    register_messaging,
)
from manila_lite.tests.functional.siblings.dataproc.on_compute import Http
from manila_lite.tests.services import cloud_nodes, nodes

_NETWORKS = 'networks: [{id: net-four, name: four, cidr: 10.66.1.0/24, ranges: [[10.66.1.40, 10.66.1.49]]}]'
_COMPUTE = """driver = qemu
state = {state}/vm
images = {state}/images
networks_file = {state}/compute-networks.yaml
[compute_qemu]
accelerator = tcg
power_off_timeout = 1
start_timeout = 180
bridges = net-four:{bridge}
bridge_netns = {fabric}
"""
_NODES = """[dataproc_nodes]
compute_kernel = kernel
compute_initrd = initrd
compute_cmdline = {cmdline}
compute_memory = 256
ssh_user = {user}
ssh_key_file = {state}/key
ssh_timeout = 120
ssh_proxy_command = nsenter --net=/run/netns/{engine} busybox nc {{host}} {{port}}
[compute_service]
auth_type = admin_token
endpoint = {url}
token = sahara:service:member,reader
"""
_OPTIONS = {
    'infra': 'compute',
    'handlers': {'NFS': 'nfs'},
    'attempts': 20,
    'retry_delay': 1,
    'share_timeout': 300,
}


class ClusterServers(api_base.ApiTest):
    """Two guests. They are booted once, so one test covers their whole life."""

    def setUp(self):
        if lacks := ', '.join(filter(None, (nodes.missing(), test_qemu_driver.missing()))):
            raise unittest.SkipTest(
                f'nodes with a kernel NFS client need {lacks}; tools/setup-env --guests puts it in place'
            )
        super().setUp()

    def test_nodes_read_each_others_files_and_deletion_leaves_nothing(self):
        self.data, _ = self.share(self.network())
        self._begin()
        made = self.me.ok(
            'POST',
            '/clusters',
            {
                'name': 'c',
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'node_groups': [group(count=2)],
                'shares': [{'id': self.data, 'path': '/srv/data'}],
            },
        )['cluster']['id']
        cluster = self.me.wait(made, 'Active')
        shown = {
            node['instance_name']: node['internal_ip'] for node in cluster['node_groups'][0]['instances']
        }
        self._servers(shown)
        self._shares(*self.rows(made))
        self.assertEqual(204, self.me.call('DELETE', f'/clusters/{made}', {'force': True})[0])
        self.me.wait(made, 'gone')
        self.assertEqual(({}, []), (self.rules(), self.servers()))
        self.until(lambda: not self.taps() and not self.guests(), 'no guest is left, nor its interface')

    # Setup ------------------------------------------------------------------------------------

    def _begin(self):
        """Start both sibling services in the machine's network; nodes are reached through a client in their network."""
        state, bridge = self.machine.state, bridge_of(server_base.network('four', 1))
        (state / 'images').mkdir()
        cloud_nodes.make(state / 'images')
        (state / 'compute-networks.yaml').write_text(_NETWORKS)
        (state / 'key').touch(0o600)
        (state / 'key').write_text(remote.host_key()[0])
        self.machine.client('engine', 'four', 30)
        url = f'http://127.0.0.1:{self.lite.port}'
        self.compute = self.useFixture(
            Compute(url, _COMPUTE.format(state=state, bridge=bridge, fabric=self.machine.fabric), agent=False)
        )
        register_messaging(self.compute.conf)
        self.addCleanup(self._kill)
        self.compute.start()
        self.them = ComputeCaller(self.compute.app, 'service', user='sahara')
        self.dataproc = self.useFixture(
            Dataproc(
                LOGIN.format(url=url)
                + _NODES.format(
                    cmdline=cloud_nodes.CMDLINE,
                    user=cloud_nodes.USER,
                    state=state,
                    engine=self.machine.space('engine'),
                    url=self.useFixture(Http(self.compute)).url,
                ),
                engine=False,
            )
        )
        for name, value in _OPTIONS.items():
            self.dataproc.conf.set_override(name, value, 'dataproc')
        self.dataproc.start()
        self.addCleanup(self.dataproc.stop)
        self.me = Caller(self.dataproc.app)

    def _kill(self):
        """Kill all guests, whatever the result of the test."""
        self.compute.stop()
        for process in self.guests():
            with contextlib.suppress(psutil.Error):
                process.kill()
                process.wait(waiting.LIMIT)

    def guests(self):
        """Return the processes of guests."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if (
                    words
                    and 'qemu' in words[0]
                    and any(f'{self.machine.state}/vm/' in word for word in words)
                ):
                    found.append(process)
        return found

    def servers(self):
        """Return all compute servers."""
        return self.them.ok('GET', '/servers/detail')['servers']

    def taps(self):
        """Return the interfaces of guests on the bridge."""
        found = base.command('ip', '-n', self.machine.fabric, '-o', 'link', 'show', 'type', 'tun')
        return [line.split(': ')[1] for line in found.splitlines()]

    def rules(self):
        """Return the access rules of the share as {address: level}."""
        found = self.lite.ok('GET', f'/share-access-rules?share_id={self.data}')['access_list']
        return {rule['access_to']: rule['access_level'] for rule in found}

    def rows(self, cluster):
        """Return the nodes of the cluster."""
        with self.dataproc.services.db.reader() as conn:
            return [steps.node_of(row) for row in store.instances(conn, [cluster])]

    # Checks -----------------------------------------------------------------------------------

    def _servers(self, shown):
        """Check that each node is a server with an address on the share network, and has an access rule for it."""
        servers = self.servers()
        addresses = {server['addresses']['four'][0]['addr'] for server in servers}
        self.assertEqual({'10.66.1.40', '10.66.1.41'}, addresses)
        self.assertEqual(addresses, set(shown.values()))
        self.assertEqual(dict.fromkeys(addresses, 'rw'), self.rules())
        self.assertEqual((2, 2), (len(self.taps()), len(self.guests())))
        self.assertEqual({'ACTIVE'}, {server['status'] for server in servers})

    def _shares(self, one, two):
        """Check that one node reads the file of the other, and that each node got its own user data."""
        for node in (one, two):
            self.assertEqual(node.name, self.says(node, 'hostname').strip())
            self.assertEqual('0', self.says(node, 'id', '-u').strip(), 'by sudo')
            asked = self.says(node, 'cat', '/var/cache/asked')
            self.assertEqual(
                ['update', 'nfs-common'],
                [line.split()[-1] for line in asked.splitlines()],
                'it had no client',
            )
            self.assertIn(' /srv/data nfs4 rw,', self.says(node, 'cat', '/proc/mounts'))
        self.says(one, 'cp', '/tmp/user_data', '/srv/data/letter')
        self.assertIn(f'"hostname": "{one.name}"', self.says(two, 'cat', '/srv/data/letter'))

    def says(self, node, *words):
        """Check that the command succeeds on a node; return its output."""
        with self.dataproc.engine.tools.infra.connect(node) as session:
            done = session.run(words, timeout=waiting.LIMIT)
        self.assertEqual(0, done.status, f'{words}: {done}')
        return done.out.decode()
