# SPDX-License-Identifier: Apache-2.0
"""Base of linux driver tests: a backend and clients in network namespaces, each with an IPv4 and an IPv6 address."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import psutil
import testtools
from oslo_config import cfg
from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers import load
from manila_lite.host import mounts
from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.linux_teardown import tear_down

_PROGRAMS = {
    'ganesha.nfsd': 'nfs-ganesha',
    'mkfs.btrfs': 'btrfs-progs',
    'dbus-daemon': 'dbus-daemon',
    'ip': 'iproute2',
}


def missing():
    """Return the requirements of real storage that this machine lacks, or an empty text."""
    path = os.environ['PATH'] + ':/usr/sbin:/sbin'
    lacks = [
        f'{program} (package {package})'
        for program, package in _PROGRAMS.items()
        if not shutil.which(program, path=path)
    ]
    return 'root' if os.geteuid() else ', '.join(lacks)


def command(*words):
    """Run a command of the machine; return its output."""
    return subprocess.run(
        words,
        check=True,
        capture_output=True,
        text=True,
        timeout=waiting.LIMIT,
        env={**os.environ, 'PATH': f'{os.environ["PATH"]}:/usr/sbin:/sbin'},
    ).stdout


def ip(*words):
    """Run ip(8)."""
    command('ip', *words)


def power_off(state, images, spaces=()):
    """Remove all state below a folder that a reboot removes: processes, mounts, loop devices; and the given namespaces."""
    mine = str(state)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(mine in word for word in process.cmdline()):
                process.kill()
                process.wait(waiting.LIMIT)
    for space in spaces:
        subprocess.run(['ip', 'netns', 'delete', space], capture_output=True, timeout=waiting.LIMIT)
    table = [line.split(' ')[4] for line in Path('/proc/self/mountinfo').read_text().splitlines()]
    for place in sorted((place for place in table if place.startswith(mine)), reverse=True):
        mounts.unmount(Path(place))
    for image in images:
        if (state / image).exists():
            mounts.detach(state / image)


def kill(daemon):
    """Kill the daemon and wait for its end."""
    daemon.process().kill()
    waiting.until(lambda: daemon.process() is None, 'the daemon has ended', pause=0.001)


class Fabric:
    """A bridge with hosts in namespaces of their own; ``hosts`` maps a short name to the last part of its addresses."""

    BRIDGE = 'br0'

    def __init__(self, **hosts):
        self.mark = uuidutils.generate_uuid(dashed=False)[:6]
        self.hosts = hosts

    def name(self, host):
        """Return the host's namespace."""
        return f'ml{self.mark}-{host}'

    def v4(self, host):
        """Return the host's IPv4 address."""
        return f'10.99.0.{self.hosts[host]}'

    def v6(self, host):
        """Return the host's IPv6 address."""
        return f'fd99::{self.hosts[host]}'

    def up(self):
        """Create the namespaces; the hosts reach each other, and nothing else."""
        fabric = self.name('fabric')
        ip('netns', 'add', fabric)
        ip('-n', fabric, 'link', 'add', self.BRIDGE, 'type', 'bridge')
        ip('-n', fabric, 'link', 'set', self.BRIDGE, 'up')
        for host in self.hosts:
            space = self.name(host)
            ip('netns', 'add', space)
            ip('-n', space, 'link', 'set', 'lo', 'up')
            ip(
                '-n',
                space,
                'link',
                'add',
                'eth0',
                'type',
                'veth',
                'peer',
                'name',
                f'p-{host}',
                'netns',
                fabric,
            )
            ip('-n', fabric, 'link', 'set', f'p-{host}', 'master', self.BRIDGE, 'up')
            ip('-n', space, 'addr', 'add', f'{self.v4(host)}/24', 'dev', 'eth0')
            ip('-n', space, 'addr', 'add', f'{self.v6(host)}/64', 'dev', 'eth0', 'nodad')
            ip('-n', space, 'link', 'set', 'eth0', 'up')

    def down(self):
        """Delete the namespaces."""
        for host in ('fabric', *self.hosts):
            subprocess.run(
                ['ip', 'netns', 'del', self.name(host)], capture_output=True, timeout=waiting.LIMIT
            )


class LinuxTest(testtools.TestCase):
    """One backend for the class."""

    OPTIONS = ''
    POOL = 'pool.img'
    PROTO = 'NFS'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := missing():
            raise unittest.SkipTest(f'real storage needs {lacks}')
        cls.state = Path(tempfile.mkdtemp(prefix='ml-linux-'))
        cls.addClassCleanup(shutil.rmtree, cls.state, ignore_errors=True)
        cls.fabric = Fabric(nas=1, one=11, two=12)
        cls.addClassCleanup(cls.fabric.down)
        cls.fabric.up()
        (cls.state / 'conf').write_text(
            f'[linux]\nlinux_pool_path = {cls.state / cls.POOL}\nlinux_pool_size_gb = 4\nlinux_graceless = true\n'
            f'linux_netns = {cls.fabric.name("nas")}\n'
            f'linux_export_ips = {cls.fabric.v6("nas")},{cls.fabric.v4("nas")}\n{cls.OPTIONS}'
        )
        cls.driver = cls.make()
        cls.addClassCleanup(lambda: tear_down(cls.driver, remove_data=True))
        cls.driver.setup()

    @classmethod
    def make(cls):
        """Return a driver for the backend, as another share manager would make it."""
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[str(cls.state / 'conf')])
        return load.make('linux', 'linux', 'test@linux', conf, cls.state / 'state')

    def share(self, size=1):
        """Create a share without access rules."""
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', size, self.PROTO, 'pool')
        self.driver.create_share(share)
        self.addCleanup(lambda: self.driver.delete_share(share))
        return share

    def grant(self, share, *rules):
        """Apply exactly these rules, given as (address, level); return the errors in their order."""
        given = [values.AccessRule(f'r{number}', 'ip', to, level) for number, (to, level) in enumerate(rules)]
        results = self.driver.update_access(share, given)
        return [results[rule.id].error for rule in given]

    def nfs(self, host, share, action, *words, v6=False):
        """Run an NFS command as a client; return (success, output)."""
        address = self.fabric.v6('nas') if v6 else self.fabric.v4('nas')
        path = f'/shares/{share.mount_point_name or share.id}'
        return nfs_client.call(address, path, action, *words, netns=self.fabric.name(host))

    def session(self, host, share):
        """Return a client that stays mounted until the test ends."""
        client = nfs_client.Session(
            self.fabric.v4('nas'), f'/shares/{share.id}', netns=self.fabric.name(host)
        )
        self.addCleanup(client.close)
        return client

    def works(self, *call, **more):
        """Check that the client succeeds; return the output."""
        worked, said = self.nfs(*call, **more)
        self.assertTrue(worked, said)
        return said

    def refused(self, why, *call, **more):
        """Check that the client is refused with this error."""
        worked, said = self.nfs(*call, **more)
        self.assertFalse(worked, f'it worked: {said}')
        self.assertIn(why, said)


class ShareTest(LinuxTest):
    """Base class of tests with a share that the host "one" may write to."""

    def setUp(self):
        super().setUp()
        self.made = self.share()
        self.rule = (self.fabric.v4('one'), 'rw')
        self.grant(self.made, self.rule)

    def snapshot(self, share):
        """Take a snapshot of the share."""
        snapshot = values.Snapshot(f'snap-{share.id}', share, share.size)
        self.driver.create_snapshot(snapshot)
        self.addCleanup(lambda: self.driver.delete_snapshot(snapshot))
        return snapshot
