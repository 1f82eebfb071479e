# SPDX-License-Identifier: Apache-2.0
"""A cluster of nodes with kernels of their own, on the network of a share server, through the API."""

import contextlib
import unittest

import yaml

from manila_lite import errors
from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.siblings.dataproc.interface import Mount, NodeAway, Wanted
from manila_lite.tests import process, waiting
from manila_lite.tests.functional.linux import api_base, server_base
from manila_lite.tests.functional.siblings.dataproc.base import LOGIN, Caller, Dataproc, group
from manila_lite.tests.services import nodes

_OPTIONS = {
    'infra': 'inventory',
    'handlers': {'NFS': 'nfs'},
    'attempts': 20,
    'retry_delay': 1,
    'share_timeout': 300,
}
_NAMES = ('n1', 'n2', 'n3')
#: One path that the API accepts, and one that only the handler is given.
_HOSTILE, _FORBIDDEN = '/srv/; rm -rf $HOME "$(touch owned)" it\'s', '/srv/a\nb # etc'


class ClusterNodes(api_base.ApiTest):
    """Three nodes. They are booted once, so one test covers their whole life."""

    def setUp(self):
        if lacks := nodes.missing():
            raise unittest.SkipTest(
                f'nodes with a kernel NFS client need {lacks}; tools/setup-env --guests puts it in place'
            )
        super().setUp()

    def test_nodes_mount_the_share_after_reboot_and_resize_until_deletion(self):
        self.data, _ = self.share(self.network())
        self.export = self.locations(self.data)[0][0]
        self._boot()
        self._begin()
        self._hostile_paths()
        cluster = self._make()
        self._reboot(cluster)
        self._scale(cluster)
        self._delete(cluster)

    # Setup ------------------------------------------------------------------------------------

    def _boot(self):
        """Boot the nodes on the share network, and prepare a client namespace for the engine."""
        image, bridge = nodes.Image(self.machine.state), bridge_of(server_base.network('four', 1))
        self.nodes = {}
        for number, name in enumerate(_NAMES, 31):
            self.nodes[name] = nodes.Node(
                image, name, self.machine.fabric, bridge, f'{server_base.address("four", number)}/24'
            )
            self.addCleanup(self.nodes[name].end)
        self.machine.client('engine', 'four', 30)
        for node in self.nodes.values():
            node.wait()

    def _begin(self):
        """Start the data-processing service with the nodes in its inventory; it reaches them through a proxy."""
        inventory = self.machine.state / 'inventory.yaml'
        inventory.write_text(
            yaml.safe_dump(
                {'nodes': [{'name': node.name, **node.inventory()} for node in self.nodes.values()]}
            )
        )
        proxy = f'nsenter --net=/run/netns/{self.machine.space("engine")} busybox nc {{host}} {{port}}'
        self.dataproc = self.useFixture(
            Dataproc(LOGIN.format(url=f'http://127.0.0.1:{self.lite.port}'), engine=False)
        )
        conf = self.dataproc.conf
        for name, value in _OPTIONS.items():
            conf.set_override(name, value, 'dataproc')
        conf.set_override('inventory_file', str(inventory), 'dataproc_nodes')
        conf.set_override('ssh_proxy_command', proxy, 'dataproc_nodes')
        conf.set_override('ssh_timeout', 120, 'dataproc_nodes')
        self.dataproc.start()
        self.addCleanup(self.dataproc.stop)
        self.opened, self.sessions = {}, contextlib.ExitStack()
        self.addCleanup(self.sessions.close)
        self.me = Caller(self.dataproc.app)
        tools = self.dataproc.engine.tools
        self.infra, self.handler = tools.infra, tools.handlers['NFS']

    def remote(self, name):
        """Return the engine's session on a node. Sessions are kept, because opening one is slow in an emulated node."""

        def opened():
            with contextlib.suppress(errors.Again, NodeAway):
                return self.sessions.enter_context(
                    self.infra.connect(self.infra.ready(name, Wanted('i', name, 'c', 'g')))
                )

        if name not in self.opened:
            self.opened[name] = process.until(opened, f'{name} answers', self.nodes[name].tail)
        return self.opened[name]

    def on(self, name, *words):
        """Run a command on a node; return its result."""
        try:
            return self.remote(name).run(words, timeout=waiting.LIMIT)
        except NodeAway:
            del self.opened[name]
            return self.remote(name).run(words, timeout=waiting.LIMIT)

    def says(self, name, *words):
        """Check that the command succeeds; return its output."""
        done = self.on(name, *words)
        self.assertEqual(0, done.status, f'{words}: {done}')
        return done.out.decode()

    def clean(self, *names):
        """Check that the nodes are as their image made them."""
        for name in names:
            self.assertEqual(nodes.FSTAB, self.says(name, 'cat', '/etc/fstab'))
            self.assertNotIn('/shares/', self.says(name, 'cat', '/proc/mounts'))
            self.assertEqual(
                '',
                self.says(name, 'ls', '-A', '/srv', '/mnt').replace('/srv:', '').replace('/mnt:', '').strip(),
            )

    def rules(self):
        """Return the access rules as {address: level}; check that all are active."""
        found = self.lite.ok('GET', f'/share-access-rules?share_id={self.data}')['access_list']
        self.assertEqual({'active'} & {rule['state'] for rule in found}, {rule['state'] for rule in found})
        return {rule['access_to']: rule['access_level'] for rule in found}

    def outsider(self, name):
        """Check that the node cannot mount the share."""
        done = self.on(name, 'mount', '-t', 'nfs', '-o', 'vers=4.2,retry=0,soft', self.export, '/mnt')
        self.assertNotEqual(0, done.status, done)

    # Events -----------------------------------------------------------------------------------

    def _hostile_paths(self):
        """Check that hostile paths are refused, or treated as names: no other file appears on the node."""
        for path in ('/srv/../etc', '/srv/a\nb', 'srv', '/etc/x', '/srv/\x00'):
            status, _, _ = self.me.refused(
                'POST',
                '/clusters',
                {
                    'name': 'bad',
                    'plugin_name': 'plain',
                    'plugin_version': '1.0',
                    'node_groups': [group(count=1)],
                    'shares': [{'id': self.data, 'path': path}],
                },
            )
            self.assertEqual(400, status, path)
        rule = self.grant(self.data, self.nodes['n3'].address)
        before = self._files('n3')
        remote = self.remote('n3')
        self.handler.setup(remote)
        for mount in (Mount(self.data, self.export, path) for path in (_HOSTILE, _FORBIDDEN)):
            self.handler.mount(remote, mount)
            self.assertTrue(self.handler.is_mounted(remote, mount))
            self.assertEqual(0, remote.run(['touch', f'{mount.path}/f']).status)
            self.assertEqual('', self.handler.unmount(remote, mount))
        self.assertEqual(before, self._files('n3'))
        self.lite.ok('POST', f'/shares/{self.data}/action', {'deny_access': {'access_id': rule}})
        self.lite.wait(f'/share-access-rules/{rule}', 'access', 'gone', field='state')
        self.clean('n3')

    def _files(self, name):
        """Return the names of all files on the node's own disk."""
        return sorted(self.says(name, 'find', '/', '-xdev', '-print0').split('\0'))

    def _make(self):
        """Create a cluster: one node writes, another reads, and the third has no access."""
        made = self.me.ok(
            'POST',
            '/clusters',
            {
                'name': 'c',
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'node_groups': [
                    group('writers', 1, shares=[{'id': self.data, 'path': _HOSTILE}]),
                    group('readers', 1, shares=[{'id': self.data, 'access_level': 'ro'}]),
                ],
            },
        )['cluster']['id']
        found = self.me.wait(made, 'Active')
        taken = {
            one['name']: [node['internal_ip'] for node in one['instances']] for one in found['node_groups']
        }
        self.writer, self.reader = (
            next(name for name, node in self.nodes.items() if node.address in taken[of])
            for of in ('writers', 'readers')
        )
        self.spare = next(name for name in _NAMES if name not in (self.writer, self.reader))
        self.assertEqual(
            {self.nodes[self.writer].address: 'rw', self.nodes[self.reader].address: 'ro'}, self.rules()
        )
        self.says(self.writer, 'cp', '/etc/node', f'{_HOSTILE}/node')
        self._works()
        self.outsider(self.spare)
        self.clean(self.spare)
        return made

    def _works(self):
        """Check both access levels, and the lines in fstab that a node with a disk would mount at boot."""
        self.assertIn(f'name={self.writer}', self.says(self.reader, 'cat', f'/mnt/{self.data}/node'))
        self.says(self.writer, 'touch', f'{_HOSTILE}/more')
        refused = self.on(self.reader, 'touch', f'/mnt/{self.data}/more')
        self.assertIn(b'Read-only', refused.err)
        for name, level in ((self.writer, 'rw'), (self.reader, 'ro')):
            (line,) = (line for line in self.says(name, 'cat', '/etc/fstab').splitlines() if 'mlite' in line)
            self.assertIn(f' nfs {level},vers=4.2,_netdev,nofail ', line)

    def _reboot(self, cluster):
        """Check that the engine mounts the share again on a node that lost its state."""
        self.nodes[self.writer].pull()
        self.nodes[self.writer].wait(2)
        self.opened.pop(self.writer)
        self.clean(self.writer)
        self.dataproc.engine.check()
        process.until(
            lambda: 'mlite' in self.says(self.writer, 'cat', '/etc/fstab'),
            'it is mounted again',
            self.nodes[self.writer].tail,
        )
        self.me.wait(cluster, 'Active')
        self._works()

    def _resize(self, cluster, count):
        self.me.ok(
            'PUT', f'/clusters/{cluster}', {'resize_node_groups': [{'name': 'writers', 'count': count}]}
        )
        self.me.wait(cluster, 'Active')

    def _scale(self, cluster):
        """Check that a new node has the share, and that a removed node has nothing left."""
        self._resize(cluster, 2)
        self.assertIn('name=', self.says(self.spare, 'cat', f'{_HOSTILE}/node'))
        self.says(self.spare, 'touch', f'{_HOSTILE}/spare')
        self._resize(cluster, 1)
        self.clean(self.spare)
        self.outsider(self.spare)
        self.assertEqual(
            {self.nodes[self.writer].address: 'rw', self.nodes[self.reader].address: 'ro'}, self.rules()
        )
        self.says(self.reader, 'test', '-e', f'/mnt/{self.data}/spare')

    def _delete(self, cluster):
        """Delete the cluster: no rule, no mount and no line in fstab is left."""
        self.me.call('DELETE', f'/clusters/{cluster}')
        self.me.wait(cluster, 'gone')
        self.assertEqual({}, self.rules())
        self.clean(*_NAMES)
