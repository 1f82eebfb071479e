# SPDX-License-Identifier: Apache-2.0
"""Two hosts with one pool, for tests of failover.

A host is a set of namespaces of this machine: its processes, mounts, network and host name are its own, and so is its
``/run``. Both hosts have one kernel, though, and with it one cache of the pool: what a host wrote and did not sync is not
lost with the host. Only ``Shelf.lose_power`` shows what a disk has when the power goes.
"""

import contextlib
import datetime
import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import sqlalchemy as sa
from testtools import content

import manila_lite
from manila_lite.db import models
from manila_lite.tests import nfs4_owner, nfs_client, process, smb_writer, waiting
from manila_lite.tests.functional.linux import base, server_base

#: The request that has a file share all blocks of another.
_FICLONE = 0x40049409
#: Seconds from the end of the lease until clients are served again, on a busy machine: tools/bench/failover.py measures it.
WITHIN = 50.0
BRIDGE = 'vlan11'
ADDRESS = server_base.address('four', 5)
_ROOT = str(Path(manila_lite.__file__).parents[1])
_NETWORKS = """networks:
- {id: net-four, network_type: vlan, segmentation_id: 11,
   subnets: [{id: four, cidr: 10.66.1.0/24, ranges: [[10.66.1.5, 10.66.1.9]]}]}
"""
_BACKEND = """driver = linux
driver_handles_share_servers = true
linux_pool_path = {device}
linux_pool_fence = {fence}
linux_fabric_netns = fabric
linux_grace_period = 20
"""
_TYPE = {
    'share_type': {
        'name': 'default',
        'extra_specs': {'driver_handles_share_servers': 'True', 'snapshot_support': 'True'},
    }
}


class Shelf:
    """A disk that both hosts reach: a loop device for each, over one image.

    The image is in a file system that can copy it in no time, so that a copy is what was on the disk at one moment.
    """

    def __init__(self, folder):
        self._place, self._store = folder / 'shelf', folder / 'store.img'
        self._place.mkdir()
        with self._store.open('wb') as file:
            file.truncate(8 << 30)
        base.command('mkfs.btrfs', '--quiet', str(self._store))
        base.command('mount', '-o', 'loop', str(self._store), str(self._place))
        self.image, self._copy, self._blank = (self._place / name for name in ('pool', 'copy', 'blank'))
        for file in (self.image, self._blank):
            with file.open('wb') as out:
                out.truncate(3 << 30)
        base.command('mkfs.btrfs', '--quiet', str(self.image))
        self.device = self._attach(self.image)
        self._spare = self._attach(self._blank)

    @staticmethod
    def _attach(image):
        return base.command('losetup', '--find', '--show', str(image)).strip()

    @property
    def spare(self):
        """The device on which ``lose_power`` leaves the pool."""
        return self._spare

    def copy(self):
        """Keep the disk as it is now."""
        base.command('cp', '--reflink=always', str(self.image), str(self._copy))

    def lose_power(self):
        """Have on the spare device the disk as it was at ``copy``; no host may have it in use now."""
        base.command(
            'btrfs', 'device', 'scan', '--forget', self.device
        )  # the kernel remembers the newer of two copies
        # The device stays attached: while it was not, another test could get its number.
        with self._copy.open('rb') as copy, self._blank.open('r+b') as blank:
            fcntl.ioctl(blank, _FICLONE, copy.fileno())
        base.command('blockdev', '--flushbufs', self._spare)

    def is_free(self):
        """Say whether no file system has the disk."""
        try:
            os.close(os.open(self.device, os.O_RDONLY | os.O_EXCL))
        except OSError:
            return False
        return True

    def clear(self):
        """Remove the disk."""
        with (
            contextlib.ExitStack() as steps
        ):  # by their files: the numbers of devices may be another test's by now
            steps.callback(base.mounts.detach, self._store)
            steps.callback(base.mounts.unmount, self._place)
            for image in (self.image, self._blank):
                steps.callback(base.mounts.detach, image)


class Host:
    """A host: namespaces, kept by a process that does nothing. When that one is killed, all others die with it."""

    def __init__(self, name, folder, state):
        self.name = name
        self.own, self._state = folder / name, state
        (self.own / 'state').mkdir(parents=True)
        self._shell = subprocess.Popen(  # without --kill-child: the holder is killed by its own pid
            [
                'unshare',
                '--mount',
                '--pid',
                '--uts',
                '--net',
                '--fork',
                '--propagation',
                'private',
                '--mount-proc',
                'sleep',
                'infinity',
            ],
            stderr=subprocess.DEVNULL,
        )

    def boot(self, switch):
        """Set the host up, with a cable to the switch."""
        waiting.until(self._holder, 'the host is there')
        self._leave_others()
        self.run('hostname', self.name)
        self.run('mount', '-t', 'tmpfs', 'run', '/run')
        self.run('mount', '--bind', str(self.own / 'state'), str(self._state))
        self.run('ip', 'link', 'set', 'lo', 'up')
        self._plug(switch)

    def _holder(self):
        return next((one for one in process.children(self._shell) if one.name() == 'sleep'), None)

    def _mount_points(self):
        table = Path(f'/proc/{self._holder().pid}/mountinfo').read_text().splitlines()
        return [line.split(' ')[4] for line in table]

    def _leave_others(self):
        """Have none of the mounts and namespaces of other tests here: they could not end."""

        def theirs():
            return [
                place
                for place in self._mount_points()
                if place.startswith((f'{tempfile.gettempdir()}/', '/run/'))
            ]

        # One whose mount point another test removes meanwhile is gone from here, too: only what is left counts.
        subprocess.run(self.inside('umount', '--lazy', *reversed(theirs())), capture_output=True, check=False)
        waiting.until(lambda: not theirs(), theirs)

    def _plug(self, switch):
        """Connect the bridge of share servers to the switch, as an administrator does."""
        base.ip(
            '-n', switch, 'link', 'add', f'p-{self.name}', 'type', 'veth', 'peer', 'name', f'up-{self.name}'
        )
        base.ip('-n', switch, 'link', 'set', f'p-{self.name}', 'master', 'br0', 'up')
        base.ip('-n', switch, 'link', 'set', f'up-{self.name}', 'netns', str(self._holder().pid))
        self.run('ip', 'netns', 'add', 'fabric')
        self.run('ip', 'link', 'set', f'up-{self.name}', 'netns', 'fabric')
        for words in (('lo', 'up'), (f'up-{self.name}', 'up')):
            self.run('ip', '-n', 'fabric', 'link', 'set', *words)
        self.run('ip', '-n', 'fabric', 'link', 'add', BRIDGE, 'type', 'bridge', 'mcast_snooping', '0')
        self.run('ip', '-n', 'fabric', 'link', 'set', BRIDGE, 'up')
        self.run('ip', '-n', 'fabric', 'link', 'set', f'up-{self.name}', 'master', BRIDGE)

    def inside(self, *words):
        """Return the command that runs another one on the host."""
        return ['nsenter', f'--target={self._holder().pid}', '--mount', '--pid', '--uts', '--net', *words]

    def run(self, *words):
        """Run a command on the host; return its output."""
        return base.command(*self.inside(*words))

    def processes(self, *words):
        """Return the processes of the host that have all these words in their command."""
        space = os.stat(f'/proc/{self._holder().pid}/ns/pid').st_ino
        found = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                mine = os.stat(f'/proc/{one.pid}/ns/pid').st_ino == space
                if (
                    mine
                    and one.status() != psutil.STATUS_ZOMBIE
                    and all(word in ' '.join(one.cmdline()) for word in words)
                ):
                    found.append(one)
        return found

    def managers(self):
        """Return the processes of the share manager: a master and a child. Where setproctitle is installed they have titles."""
        return [*self.processes('manila_lite.cmd.share'), *self.processes('share.py: ')]

    def guards(self):
        """Return the guard of the pool."""
        return self.processes('failover.guard')

    def servers(self):
        """Return the processes of share servers that clients talk to."""
        return self.processes('ganesha.nfsd')

    def signal(self, processes, signo):
        """Send a signal to processes of the host."""
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(signo)

    def mounts(self):
        """Return the mount points on the host that are of the pool."""
        return [place for place in self._mount_points() if place.startswith(f'{self._state}/alpha/')]

    def spaces(self):
        """Return the namespaces of share servers on the host."""
        return [
            line.split()[0] for line in self.run('ip', 'netns').splitlines() if line.startswith('manila-')
        ]

    def ports(self):
        """Return the ports of share servers on the bridge of the host."""
        shown = self.run('ip', '-n', 'fabric', '-json', 'link', 'show', 'master', BRIDGE)
        return [link['ifname'] for link in json.loads(shown or '[]') if link['ifname'] != f'up-{self.name}']

    def remains(self):
        """Return all that the host has of the backend: servers, mounts, namespaces, ports."""
        return [*(one.name() for one in self.servers()), *self.mounts(), *self.spaces(), *self.ports()]

    @contextlib.contextmanager
    def busy_fabric(self):
        """Keep share servers of the host from being connected."""
        with open(f'/proc/{self._holder().pid}/root/run/manila_lite-fabric.lock', 'a') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def power_off(self):
        """Kill all processes of the host at once; the rest of it goes with them."""
        if holder := self._holder():
            # Those that wait for processes of the host have its mounts, and stop when these are stopped.
            waits = [
                one
                for one in psutil.process_iter(['cmdline'])
                if f'--target={holder.pid}' in (one.info['cmdline'] or ())
            ]
            self.signal([holder, *waits], signal.SIGKILL)
        self._shell.kill()
        self._shell.wait(waiting.LIMIT)


class FailoverTest(server_base.MachineTest):
    """Two hosts, one pool. The share manager of the host ``one`` works, that of ``two`` waits, and a client writes."""

    FENCE = 'guard'
    #: Of the backend, in seconds; None for the default.
    LEASE: int | None = None

    def setUp(self):
        super().setUp()
        folder = self.machine.state
        self.state = folder / 'lib'
        self.state.mkdir()
        self.shelf = Shelf(folder)
        self.addCleanup(self.shelf.clear)
        self.switch = self.machine.space('switch')
        base.ip('-n', self.switch, 'link', 'add', 'br0', 'type', 'bridge', 'mcast_snooping', '0')
        base.ip('-n', self.switch, 'link', 'set', 'br0', 'up')
        (folder / 'networks.yaml').write_text(_NETWORKS)
        self.url = self.database()
        self.parts = self.useFixture(
            process.Parts(
                f'[database]\nconnection = {self.url}\n[standalone_network]\nfile = {folder}/networks.yaml\n',
                _BACKEND.format(device='DEVICE', fence=self.FENCE),
            )
        )
        if self.LEASE:
            self.parts.edit('lease = 60', f'lease = 60\nfailover_lease = {self.LEASE}')
        self.hosts = []
        self.addOnException(lambda _: self.addDetail('logs', content.text_content(self._logs())))
        self.addCleanup(self._end)
        self.one, self.two = self.host('one'), self.host('two')
        for name in ('api', 'scheduler'):
            self.parts.run(name)

    def database(self):
        """Return the URL of an empty database."""
        return f'sqlite:///{self.machine.state}/rows.sqlite'

    def url_at(self, host):
        """Return the URL with which a host reaches the database."""
        return self.url

    def _logs(self):
        """Return the ends of the logs of share managers and guards."""
        guards = [(host.own / 'state' / 'alpha' / 'guard' / 'guard.log') for host in self.hosts]
        said = self.parts.tail() if self.parts.log.exists() else ''
        return '\n'.join((said, *(f'{log}:\n{log.read_text()}' for log in guards if log.exists())))

    def _end(self):
        self.parts.end()
        for host in self.hosts:
            host.power_off()
        waiting.until(self.shelf.is_free, 'no host has the pool')

    def host(self, name):
        """Add a host."""
        host = Host(name, self.machine.state, self.state)
        self.hosts.append(host)
        host.boot(self.switch)
        return host

    def start(self, host, device=None, more=''):
        """Start the share manager of a host."""
        file = host.own / 'manila_lite.conf'
        text = self.parts.config.read_text().replace(
            f'state_path = {self.parts.state}', f'state_path = {self.state}'
        )
        text = text.replace(self.url, self.url_at(host))
        file.write_text(text.replace('DEVICE', f'{device or self.shelf.device}\n{more}'))
        self.parts.run(
            'share',
            *host.inside(sys.executable, '-m', 'manila_lite.cmd.share', f'--config-file={file}'),
            PYTHONPATH=_ROOT,
        )

    def said(self, words, times=1):
        """Wait until a share manager has said this."""
        self.until(lambda: self.parts.log.read_text().count(words) >= times, f'{words} ({times})')

    def until(self, check, what):
        """Wait until ``check`` returns something true; return it."""
        return process.until(check, what, self.parts.tail)

    def begin(self, more=''):
        """Start both share managers, and a client that may write to a share. Return the path of the share."""
        self.start(self.one, more=more)
        self.until(self.parts.answers, 'the API answers')
        self.parts.ok('POST', '/types', _TYPE)
        self.until(self.parts.pools, 'a pool')
        self.network = self.share_network()
        path = self.share()
        for name, number in (('friend', 101), ('stranger', 102)):
            space = self.machine.space(name)
            base.ip(
                '-n',
                self.switch,
                'link',
                'add',
                f'p-{name}',
                'type',
                'veth',
                'peer',
                'name',
                'eth0',
                'netns',
                space,
            )
            base.ip('-n', self.switch, 'link', 'set', f'p-{name}', 'master', 'br0', 'up')
            base.ip('-n', space, 'address', 'add', f'{server_base.address("four", number)}/24', 'dev', 'eth0')
            base.ip('-n', space, 'link', 'set', 'eth0', 'up')
        return path

    def is_up(self):
        """Say whether the API shows the share manager as up."""
        shown = self.parts.ok('GET', '/services')['services']
        return [one['state'] for one in shown if one['binary'] == 'manila-share'] == ['up']

    def share_network(self):
        """Return the id of a new share network; it gets a share server of its own."""
        return self.parts.ok(
            'POST',
            '/share-networks',
            {'share_network': {'name': 'n', 'neutron_net_id': 'net-four', 'neutron_subnet_id': 'four'}},
        )['share_network']['id']

    def request(self, network, proto='NFS'):
        """Request a share; return its id."""
        return self.parts.ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': proto, 'share_network_id': network}}
        )['share']['id']

    def share(self):
        """Return the path of a new share that the friend may write to."""
        return self.location(self.request(self.network), ADDRESS)

    def location(self, share, server):
        """Wait for the share at this address; return its path. The friend may write to it."""
        address, _, path = self.allowed(share, 'ip', server_base.address('four', 101)).partition(':')
        self.assertEqual(server, address)
        return path

    def cifs_share(self, user):
        """Return the path of a new CIFS share to which the user may write."""
        return self.allowed(self.request(self.network, 'CIFS'), 'user', user)

    def allowed(self, share, kind, client):
        """Wait for the share, let a client write to it, and return the path of its export location."""
        made = self.parts.wait(f'/shares/{share}', 'share', ('available', 'error'))
        self.assertEqual('available', made['status'], self.parts.tail())
        rule = self.parts.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': kind, 'access_to': client, 'access_level': 'rw'}},
        )['access']['id']
        self.parts.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        [location] = self.parts.ok('GET', f'/shares/{share}/export_locations')['export_locations']
        return location['path']

    def writer(self, path, file='log', version=nfs4_owner.Owner, pause=0.02):
        """Return a client that writes to a file that it has locked, until the test ends."""
        writer = self.until(
            lambda: nfs4_owner.Writer(ADDRESS, self.machine.space('friend'), path, file, pause, version),
            'a client writes',
        )
        self.addCleanup(writer.end)
        writer.goes_on()
        return writer

    def cifs_writer(self, path, user='alice'):
        """Return a CIFS client that writes files until the test ends."""
        writer = smb_writer.Writer(self.machine.space('friend'), path, user, user)
        self.addCleanup(writer.end)
        writer.goes_on()
        return writer

    def call(self, name, path, *words, server=ADDRESS):
        """Run an NFS command as a client; return (success, output)."""
        return nfs_client.call(server, path, *words, netns=self.machine.space(name))

    def unless_grace(self, *call, **more):
        """Return the result of a command; None while the server lets clients reclaim their locks only."""
        worked, said = self.call(*call, **more)
        return None if not worked and 'GRACE' in said else (worked, said)

    def _refusal(self, name, path):
        worked, said = self.call(name, path, 'list')
        self.assertFalse(worked, said)
        return said

    def assert_kept(self, writer, path):
        """Check that all acknowledged records are in the share, that the client got its lock back, and that rules hold."""
        writer.goes_on()
        writer.end()
        worked, read = self.until(
            lambda: self.unless_grace('friend', path, 'read', writer.file), 'the grace period is over'
        )
        self.assertTrue(worked, read)
        self.assertEqual([], nfs4_owner.missing(read.encode() + b'\n', writer.acknowledged))
        self.assertEqual([], writer.refusals)
        self.assertEqual({'OK'}, {one for one in writer.reclaims if one != 'GRACE'})
        self.until(
            lambda: 'NOENT' in self._refusal('stranger', path), 'a server says that the stranger has no share'
        )

    def stop(self, host, processes):
        """Stop processes of the host, none of them in the middle of a write to the database: SQLite would wait for it."""
        with contextlib.closing(
            sqlite3.connect(self.machine.state / 'rows.sqlite', isolation_level=None)
        ) as rows:
            rows.execute('BEGIN IMMEDIATE')
            host.signal(processes, signal.SIGSTOP)
            waiting.until(
                lambda: all(one.status() == psutil.STATUS_STOPPED for one in processes), 'all are stopped'
            )
            rows.execute('ROLLBACK')

    def lease_end(self):
        """Return the monotonic time, in seconds, at which the lease of the backend ends if nobody renews it."""
        return lease_end(self.url)

    def show(self, title, writer, ended):
        """Print the longest gap of the writer, and the time from the end of the lease to the first answer after it."""
        back = max(moment for _, moment in writer.gaps)
        print(
            f'\nFailover, {title}: {writer.longest:.1f} s without an answer, {back - ended:.1f} s after the end of the lease',
            file=sys.stderr,
        )
        return back - ended


def lease_end(url):
    """Return the monotonic time, in seconds, at which the lease in the database ends."""
    table = models.services
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as rows:
        [end] = rows.execute(
            sa.select(table.c.lease_expires_at).where(
                table.c.lease_owner.is_not(None), table.c.binary == 'manila-share'
            )
        ).scalars()
    return time.monotonic() + end.replace(tzinfo=datetime.UTC).timestamp() - time.time()


CONTINUE, KILL = signal.SIGCONT, signal.SIGKILL
