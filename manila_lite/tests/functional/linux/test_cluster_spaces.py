# SPDX-License-Identifier: Apache-2.0
"""Shares on nodes that are namespaces of this machine: over real SSH, from a real server, mounted with FUSE."""

import dataclasses
import unittest

import yaml
from oslo_config import cfg

from manila_lite import errors
from manila_lite.siblings.dataproc import node_conf
from manila_lite.siblings.dataproc.handlers.nfs import NfsHandler
from manila_lite.siblings.dataproc.infra.inventory import Inventory
from manila_lite.siblings.dataproc.interface import Busy, Mount, NodeAway, Remote, Result, Wanted
from manila_lite.tests import process
from manila_lite.tests.functional.linux import base
from manila_lite.tests.services import nodes, space_nodes

WANTED = Wanted('i', 'n', 'c', 'g')
#: Paths that a shell, fstab or the table of mounts could misread.
HOSTILE = (
    '/srv/; rm -rf $HOME "$(touch owned)"',
    '/srv/`touch owned`it\'s  "two"\\040',
    '/srv/-o rw #*?[a]{b}~!&|<>',
    '/srv/ünïcødé',
)

#: Prints the ids of the programs that serve a mount.
_CLIENTS = 'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline | grep -q "nfs_[f]use.*$1" && echo ${p#/proc/}; done; true'


class SpaceNodes(base.LinuxTest):
    """Two nodes for the class."""

    @classmethod
    def setUpClass(cls):
        if lacks := space_nodes.missing():
            raise unittest.SkipTest(f'nodes with SSH need {lacks}')
        super().setUpClass()
        key = space_nodes.keys(cls.state)
        cls.nodes = {
            name: space_nodes.SpaceNode(cls.state, name, cls.fabric.name(name), cls.fabric.v4(name), key)
            for name in ('one', 'two')
        }
        for node in cls.nodes.values():
            cls.addClassCleanup(node.end)
        file = cls.state / 'inventory'
        file.write_text(
            yaml.safe_dump(
                {'nodes': [{'name': node.name, **node.inventory()} for node in cls.nodes.values()]}
            )
        )
        cls.conf = cfg.ConfigOpts()
        node_conf.register_opts(cls.conf)
        cls.conf([])
        for name, value in (
            ('inventory_file', str(file)),
            ('ssh_proxy_command', cls.proxy()),
            ('ssh_timeout', 120),
        ):
            cls.conf.set_override(name, value, node_conf.GROUP)
        cls.infra, cls.handler = Inventory(cls.conf), NfsHandler(cls.conf)

    @classmethod
    def proxy(cls):
        """Return the proxy command that reaches a node without a network route to it."""
        return f'nsenter --net=/run/netns/{cls.fabric.name("nas")} busybox nc {{host}} {{port}}'

    def ready(self, name):
        """Wait for a node; return it."""

        def answers():
            try:
                return self.infra.ready(name, WANTED)
            except errors.Again:
                return None

        return process.until(answers, f'{name} answers', self.nodes[name].tail)

    def refused(self, call, *words, error=errors.Final, says=''):
        """Check that a call ends with this error and these words."""
        raised = self.assertRaises(error, call, *words)
        self.assertIn(says, str(raised))

    def connect(self, name):
        """Return a session on a node that lasts until the test ends."""
        session = self.infra.connect(self.ready(name))
        remote = session.__enter__()
        self.addCleanup(session.__exit__, None, None, None)
        return remote

    def exported(self, *levels):
        """Create a share with these levels for the nodes one and two. Return a function that makes a mount at a path."""
        share = self.share()
        self.grant(share, *zip((self.fabric.v4('one'), self.fabric.v4('two')), levels, strict=False))
        return lambda path, level='rw': Mount(
            share.id, f'{self.fabric.v4("nas")}:/shares/{share.id}', path, level
        )

    def says(self, remote, *words, ok=True):
        """Check that the command ends as expected; return its output."""
        done = remote.run(words)
        self.assertEqual(ok, done.status == 0, f'{words}: {done}')
        return (done.out if ok else done.err).decode()

    def clean(self, name, remote):
        """Check that the node is as it was made."""
        self.assertEqual(nodes.FSTAB, self.nodes[name].fstab())
        self.assertNotIn(' /srv/', self.says(remote, 'cat', '/proc/mounts'))
        # Commands run in /srv, so it also shows files that they left.
        self.assertEqual('', self.says(remote, 'ls', '-A', '/srv'))

    def test_mount_and_unmount_work_at_hostile_paths(self):
        remote, at = self.connect('one'), self.exported('rw')
        self.handler.setup(remote)
        for path in HOSTILE:
            mount = at(path)
            for _ in range(2):
                self.handler.mount(remote, mount)
            self.assertEqual(
                (True, False, False),
                tuple(self.handler.is_mounted(remote, one) for one in (mount, at(path, 'ro'), at(path[:-1]))),
            )
            self.says(remote, 'touch', f'{path}/f')
            self.assertEqual(1, self.nodes['one'].fstab().count('# mlite '))
            for _ in range(2):
                self.assertEqual('', self.handler.unmount(remote, mount))
            self.clean('one', remote)

    def test_mount_allows_no_more_than_its_access_level(self):
        remote, at = self.connect('one'), self.exported('rw')
        read_only, both = at('/srv/level', 'ro'), at('/srv/level')
        self.handler.mount(remote, read_only)
        self.assertIn('Read-only', self.says(remote, 'touch', '/srv/level/f', ok=False))
        self.handler.mount(remote, both)
        self.assertEqual(
            (False, True), (self.handler.is_mounted(remote, read_only), self.handler.is_mounted(remote, both))
        )
        self.says(remote, 'touch', '/srv/level/f')
        self.assertIn(' nfs rw,', self.nodes['one'].fstab())
        self.handler.mount(remote, read_only)
        self.assertIn('Read-only', self.says(remote, 'touch', '/srv/level/g', ok=False))
        self.assertIn(' nfs ro,', self.nodes['one'].fstab())
        self.handler.unmount(remote, both)
        self.clean('one', remote)

    def test_node_without_an_access_rule_cannot_mount(self):
        remote, at = self.connect('two'), self.exported('rw')
        self.refused(self.handler.mount, remote, at('/srv/none'))
        self.assertFalse(self.handler.is_mounted(remote, at('/srv/none')))
        self.handler.unmount(remote, at('/srv/none'))
        self.clean('two', remote)

    def test_mounts_and_files_of_others_are_kept(self):
        remote, at = self.connect('one'), self.exported('rw')
        self.says(remote, 'mkdir', '/srv/theirs')
        self.says(remote, 'mount', '-t', 'tmpfs', 'tmpfs', '/srv/theirs')
        self.refused(self.handler.mount, remote, at('/srv/theirs'), says='Something else is mounted')
        self.handler.unmount(remote, at('/srv/theirs'), force=True)
        self.assertIn(' /srv/theirs tmpfs ', self.says(remote, 'cat', '/proc/mounts'))
        self.says(remote, 'umount', '/srv/theirs')
        self.says(remote, 'touch', '/srv/theirs/f')
        self.refused(
            self.handler.mount, remote, at('/srv/theirs'), says='/srv/theirs is not empty on this node'
        )
        self.handler.unmount(remote, at('/srv/theirs'))
        self.assertEqual('f\n', self.says(remote, 'ls', '/srv/theirs'))
        self.says(remote, 'rm', '-r', '/srv/theirs')
        self.clean('one', remote)

    def test_another_export_replaces_the_mount_at_the_same_path(self):
        remote, old, new = self.connect('one'), self.exported('rw'), self.exported('rw')
        self.handler.mount(remote, old('/srv/moved'))
        self.says(remote, 'touch', '/srv/moved/old')
        self.handler.mount(remote, new('/srv/moved'))
        self.assertEqual('', self.says(remote, 'ls', '/srv/moved'))
        self.assertEqual(1, self.nodes['one'].fstab().count('# mlite '))
        self.handler.unmount(remote, new('/srv/moved'))
        self.clean('one', remote)

    def test_busy_mount_is_kept_unless_unmount_is_forced(self):
        remote, at = self.connect('one'), self.exported('rw')
        mount = at('/srv/busy')
        self.handler.mount(remote, mount)
        self.says(
            remote,
            'sh',
            '-c',
            'cd "$1" && sleep 600 >/dev/null 2>&1 </dev/null & echo $! >/run/user',
            'x',
            '/srv/busy',
        )
        process.until(
            lambda: self.says(remote, 'sh', '-c', 'readlink /proc/$(cat /run/user)/cwd') == '/srv/busy\n',
            'it is used',
            self.nodes['one'].tail,
        )
        fstab = self.nodes['one'].fstab()
        self.refused(self.handler.unmount, remote, mount, error=Busy, says='busy')
        self.refused(self.handler.mount, remote, at('/srv/busy', 'ro'), error=Busy, says='busy')
        self.assertTrue(self.handler.is_mounted(remote, mount))
        self.assertEqual(fstab, self.nodes['one'].fstab())
        self.assertIn('lazily', self.handler.unmount(remote, mount, force=True))
        self.clean('one', remote)

    def test_mount_through_a_link_to_a_system_directory_is_refused(self):
        remote, at = self.connect('one'), self.exported('rw')
        self.says(remote, 'mkdir', '/srv/real')
        self.says(remote, 'ln', '-s', 'real', '/srv/link')
        self.says(remote, 'ln', '-s', '/etc', '/srv/system')
        self.handler.mount(remote, at('/srv/link/data'))
        self.assertTrue(self.handler.is_mounted(remote, at('/srv/link/data')))
        self.assertIn(' /srv/real/data ', self.says(remote, 'cat', '/proc/mounts'))
        self.handler.unmount(remote, at('/srv/link/data'))
        self.refused(self.handler.mount, remote, at('/srv/system/ssh'), says='belongs to the system')
        self.says(remote, 'rm', '/srv/link', '/srv/system')
        self.says(remote, 'rmdir', '/srv/real')
        self.clean('one', remote)

    def test_share_is_mounted_again_after_a_reboot(self):
        at = self.exported(None, 'rw')
        mount = at('/srv/a b')
        self.handler.mount(self.connect('two'), mount)
        fstab = self.nodes['two'].fstab()
        self.nodes['two'].reboot()
        remote = self.connect('two')
        self.assertFalse(self.handler.is_mounted(remote, mount))
        # A boot does the same with the line in fstab.
        self.says(remote, 'mkdir', '/srv/a b')
        self.says(remote, 'mount', '/srv/a b')
        self.assertTrue(self.handler.is_mounted(remote, mount))
        self.says(remote, 'umount', '/srv/a b')
        self.handler.mount(remote, mount)
        self.assertTrue(self.handler.is_mounted(remote, mount))
        self.assertEqual(fstab, self.nodes['two'].fstab())
        self.handler.unmount(remote, mount)
        self.clean('two', remote)

    def test_files_written_while_the_share_was_away_do_not_stop_its_mount(self):
        remote, mount = self.connect('one'), self.exported('rw')('/srv/late')
        self.handler.mount(remote, mount)
        self.says(remote, 'umount', '/srv/late')
        self.says(remote, 'touch', '/srv/late/f')
        self.handler.mount(remote, mount)
        self.assertTrue(self.handler.is_mounted(remote, mount))
        self.handler.unmount(remote, mount)
        self.says(remote, 'rm', '-r', '/srv/late')
        self.clean('one', remote)

    def test_mount_that_does_not_answer_is_noticed_and_healed(self):
        self.conf.set_override('answer_timeout', 2, node_conf.GROUP)
        self.addCleanup(self.conf.clear_override, 'answer_timeout', node_conf.GROUP)
        remote, mount = self.connect('one'), self.exported('rw')('/srv/dead')
        self.handler.mount(remote, mount)
        client = self.says(remote, 'sh', '-c', _CLIENTS, 'x', '/srv/dead').split()
        self.says(remote, 'kill', '-STOP', *client)
        self.assertFalse(self.handler.is_mounted(remote, mount))
        self.refused(self.handler.mount, remote, mount, error=errors.Again, says='does not answer within 2 s')
        self.says(remote, 'kill', '-CONT', *client)
        process.until(lambda: self.handler.is_mounted(remote, mount), 'it answers', self.nodes['one'].tail)
        self.says(remote, 'kill', '-KILL', *client)
        self.assertFalse(self.handler.is_mounted(remote, mount))
        self.handler.mount(remote, mount)
        self.assertTrue(self.handler.is_mounted(remote, mount))
        self.handler.unmount(remote, mount)
        self.clean('one', remote)

    def test_node_is_cleaned_of_what_earlier_clusters_left(self):
        remote, at = self.connect('one'), self.exported('rw')
        for path in HOSTILE[:2]:
            self.handler.mount(remote, at(path))
        self.handler.clean(remote)
        self.clean('one', remote)

    def test_concurrent_changes_of_fstab_are_kept(self):
        remote, at = self.connect('one'), self.exported('rw')
        meddler = Meddler(remote, 2)
        self.handler.mount(meddler, at('/srv/x'))
        self.assertEqual(0, meddler.times)
        self.handler.unmount(remote, at('/srv/x'))
        self.assertEqual(nodes.FSTAB + '# more\n' * 2, self.nodes['one'].fstab())
        self.says(remote, 'sed', '-i', '/# more/d', '/etc/fstab')
        self.refused(
            self.handler.mount, Meddler(remote, 99), at('/srv/x'), error=errors.Again, says='all the time'
        )
        self.handler.unmount(remote, at('/srv/x'))
        self.says(remote, 'sed', '-i', '/# more/d', '/etc/fstab')
        self.clean('one', remote)

    # Connections ------------------------------------------------------------------------------

    def enter(self, node):
        """Open a session on a node, and close it."""
        with self.infra.connect(node) as remote:
            remote.run(['true'])

    def test_connection_needs_the_pinned_host_key_and_a_root_login(self):
        node, other = self.ready('one'), self.ready('two')
        key = self.state / 'other_key'
        key.write_text(nodes.key_pair()[0])
        for changed, why in (
            ({'host_key': other.host_key}, 'another host key'),
            ({'host_key': ''}, 'no host key'),
            ({'host_key': 'ssh-ed25519 nonsense'}, 'no host key'),
            ({'key_file': str(key)}, 'refuses the login of root'),
            ({'key_file': f'{key}.none'}, 'cannot be used'),
            ({'user': 'nobody'}, 'cannot run commands as root'),
        ):
            self.refused(self.infra.answering, dataclasses.replace(node, **changed), says=why)
        self.enter(node)

    def test_unreachable_node_is_reported_as_away(self):
        node = self.ready('one')
        self.conf.set_override('ssh_timeout', 2, node_conf.GROUP)
        self.addCleanup(self.conf.set_override, 'ssh_timeout', 120, node_conf.GROUP)
        for address, port in ((node.address, 23), ('10.99.0.99', 22)):
            away = dataclasses.replace(node, address=address, port=port)
            self.refused(self.enter, away, error=NodeAway, says='does not answer')

    def test_hanging_command_is_killed_after_its_timeout(self):
        remote = self.connect('one')
        self.refused(remote.run, ['sleep', '4321'], b'', 1, error=NodeAway, says='did not end within 1 s')
        self.assertNotIn('4321', self.says(remote, 'sh', '-c', 'cat /proc/[0-9]*/cmdline'))

    def test_large_input_works_and_output_over_the_limit_is_refused(self):
        remote = self.connect('one')
        data = bytes(range(256)) * 4096
        self.assertEqual(Result(0, data, b''), remote.run(['cat'], data))
        both = ['sh', '-c', 'head -c 65536 >&2; cat >/dev/null; exit 3']
        self.assertEqual(Result(3, b'', data[:65536]), remote.run(both, data))
        self.refused(remote.run, ['head', '-c', '9000000', '/dev/zero'], error=NodeAway, says='too long')
        self.assertEqual(0, remote.run(['true']).status)

    def test_command_fails_when_the_node_dies_and_works_after_a_reboot(self):
        remote = self.connect('two')
        self.assertEqual(0, remote.run(['true']).status)
        self.nodes['two'].end()
        self.refused(remote.run, ['true'], error=NodeAway)
        self.nodes['two'].reboot()
        self.enter(self.ready('two'))


class Meddler(Remote):
    """Session on a node where another program writes to fstab ``times`` times, each time just before our write."""

    def __init__(self, remote, times):
        self._remote, self.times = remote, times

    def run(self, argv, data=b'', timeout=None):
        if 'mlite' in argv and self.times:
            self.times -= 1
            self._remote.run(['sh', '-c', 'echo "# more" >> /etc/fstab'])
        return self._remote.run(argv, data, timeout)
