# SPDX-License-Identifier: Apache-2.0
"""A private Ceph cluster on loopback, with CephFS: a monitor, a manager, an OSD and metadata servers, without containers.

It keeps its data in memory (``memstore``), or in a sparse file (``bluestore``) that outlives a killed OSD. It is usable
after a few seconds. Each daemon can be killed and started again, by its name: ``mon.a``, ``mgr.x``, ``osd.0``, ``mds.m0``.
"""

import contextlib
import errno
import json
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fixtures
from oslo_utils import uuidutils

from manila_lite.drivers.cephfs.cluster.answers import Answer
from manila_lite.tests import lasting, process, waiting
from manila_lite.tests.services import ceph_line
from manila_lite.tests.services.daemon import Broken, Daemon, Missing, program

_PROGRAMS = ('ceph-mon', 'ceph-mgr', 'ceph-mds', 'ceph-osd', 'ceph', 'ceph-authtool', 'monmaptool')
#: Modules of the manager: all others only cost memory and time at the start.
_MODULES = (
    'mgr_module.py',
    'mgr_util.py',
    'volumes',
    'orchestrator',
    'status',
    'balancer',
    'crash',
    'devicehealth',
    'pg_autoscaler',
    'progress',
    'rbd_support',
    'telemetry',
)
#: The module for NFS clusters, and the pool where it looks for them.
NFS_MODULE, NFS_POOL = 'nfs', '.nfs'
_MODULES_OF_DEBIAN = Path('/usr/share/ceph/mgr')
_LOOPBACK = {4: '127.0.0.1', 6: '[::1]'}
#: Seconds for an answer of a cluster that is asked again and again.
_POLL = 15
#: What the share service's own user may do, as the page for operators says.
SERVICE_CAPS = {
    'mon': 'allow r',
    'mgr': 'allow rw',
    'mds': 'allow *',
    'osd': 'allow rw namespace=fsvolumens_* tag cephfs data=*',
}
_DAEMONS = {
    'mon.': {'mon': 'allow *'},
    'client.admin': {'mon': 'allow *', 'osd': 'allow *', 'mds': 'allow *', 'mgr': 'allow *'},
    'mgr.x': {'mon': 'allow profile mgr', 'osd': 'allow *', 'mds': 'allow *'},
    'osd.0': {'mon': 'allow profile osd', 'osd': 'allow *', 'mgr': 'allow profile osd'},
}
_MDS = {'mon': 'allow profile mds', 'osd': 'allow rw tag cephfs *=*', 'mgr': 'allow profile mds'}

#: A client's file: where the cluster is, and the file with its key.
_CLIENT = """[global]
fsid = {fsid}
mon host = {monitor}
keyring = {keyring}
"""
#: Short intervals let a fail-over and a clone take less than a second of waiting. A grace below the monitor's interval would
#: never end.
_SERVER = """public addr = {address}
cluster addr = {address}
ms bind ipv4 = {four}
ms bind ipv6 = {six}
run dir = {home}/sock
admin socket = {home}/sock/$name.$pid.asok
log file = {home}/log/$name.log
mon cluster log file = {home}/log/cluster.log
crash dir = {home}/crash
mon data = {home}/mon
mgr data = {home}/mgr
mds data = {home}/mds
osd data = {home}/osd
osd objectstore = {store}
memstore device bytes = 4294967296
bluestore block size = 8589934592
bluestore fsck on mkfs = false
bluestore cache autotune = false
bluestore cache size = 33554432
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
auth allow insecure global id reclaim = false
mon data avail warn = 2
mon data avail crit = 1
mds cache memory limit = 134217728
mgr initial modules =
mgr module path = {home}/modules
mgr tick period = 1
mgr stats period = 1
paxos propose interval = 0.05
paxos min wait = 0.01
mon tick interval = 1
mds tick interval = 0.2
mds cap revoke eviction timeout = 3
mds beacon interval = 1
mds beacon grace = {grace}
mds beacon mon down grace = {grace}
"""


class CephDaemon(Daemon):
    """One daemon of a cluster, in the cluster's directory."""

    PORTS = ()
    END = signal.SIGKILL  # a clean end takes six seconds

    def __init__(self, cluster: 'Ceph', kind: str, ident: str):
        super().__init__()
        self._cluster = cluster
        self._words = [
            *cluster.inside,
            program(f'ceph-{kind}'),
            '--conf',
            str(cluster.server_conf),
            '-i',
            ident,
            '-f',
        ]
        self.name = f'{kind}.{ident}'

    def _setUp(self) -> None:
        self.home = self._cluster.home / 'daemons' / self.name
        self.home.mkdir(parents=True)
        self.addCleanup(self.abort)
        self.start()

    def need(self) -> None:
        """Need nothing: the cluster has looked."""

    def command(self) -> list[str]:
        """Return the daemon's command line."""
        return self._words

    def answers(self) -> bool:
        """Say at once that it runs: the cluster waits until it is usable."""
        return True


class Ceph(fixtures.Fixture):
    """A cluster with the file systems ``filesystems``, each with one metadata server, and ``standbys`` more of them.

    ``admin_conf`` is the file of ``client.admin``; ``conf`` that of ``client.manila``, the share service's own user.
    """

    def __init__(
        self,
        filesystems: Sequence[str] = ('a',),
        *,
        store: str = 'memstore',
        standbys: int = 0,
        grace: float = 15,
        family: int = 4,
        address: str = '',
        netns: str = '',
    ):
        """Remember what to make. ``address``: another one than the loopback, of the network namespace ``netns``."""
        super().__init__()
        self._address = address
        self.inside = [program('nsenter'), f'--net=/run/netns/{netns}', '--'] if netns else []
        self._filesystems = filesystems
        self._store = store
        self._servers = [f'm{number}' for number in range(len(self._filesystems) + standbys)]
        self._grace = grace
        self._family = family
        self._netns = netns
        self._line: ceph_line.Line | None = None
        #: The daemons by name.
        self.daemons: dict[str, CephDaemon] = {}

    def _setUp(self) -> None:
        for name in _PROGRAMS:
            program(name)
        if not (_MODULES_OF_DEBIAN / 'volumes').exists():
            raise Missing('the modules of ceph-mgr are not installed (tools/setup-env --ceph does that)')
        self.home = Path(self.useFixture(fixtures.TempDir()).path)
        for name in ('log', 'sock', 'mon', 'mgr', 'mds', 'osd', 'crash', 'modules', 'clients'):
            (self.home / name).mkdir()
        for name in _MODULES:
            (self.home / 'modules' / name).symlink_to(_MODULES_OF_DEBIAN / name)
        self._write_files()
        self._start_daemons()

    def _write_files(self) -> None:
        host = self._address or _LOOPBACK[self._family]
        self.ports = process.free_port(), process.free_port()
        self.monitor = f'[v2:{host}:{self.ports[0]},v1:{host}:{self.ports[1]}]'
        self.fsid = uuidutils.generate_uuid()
        keys = self.home / 'keyring'
        users = _DAEMONS | {f'mds.{name}': _MDS for name in self._servers} | {'client.manila': SERVICE_CAPS}
        self._run('ceph-authtool', '--create-keyring', str(keys))
        for name, caps in users.items():
            self._run(
                'ceph-authtool',
                str(keys),
                '--name',
                name,
                '--gen-key',
                *(word for service, cap in caps.items() for word in ('--cap', service, cap)),
            )
        self.server_conf = self.home / 'server.conf'
        self.server_conf.write_text(
            _CLIENT.format(fsid=self.fsid, monitor=self.monitor, keyring=keys)
            + _SERVER.format(
                home=self.home,
                address=host.strip('[]'),
                store=self._store,
                grace=self._grace,
                four=str(self._family == 4).lower(),
                six=str(self._family == 6).lower(),
            )
        )
        self.admin_conf = self.client_conf(
            'admin', self._run('ceph-authtool', str(keys), '--name', 'client.admin', '--print-key').strip()
        )
        self.conf = self.client_conf(
            'manila', self._run('ceph-authtool', str(keys), '--name', 'client.manila', '--print-key').strip()
        )

        if ceph_line.parser():
            self._line = ceph_line.Line(self.admin_conf, 'admin', self._netns)

    def _start_daemons(self) -> None:
        osd = uuidutils.generate_uuid()
        made = str(self.home / 'monmap')
        self._run(
            'monmaptool',
            '--create',
            '--fsid',
            self.fsid,
            '--enable-all-features',
            '--addv',
            'a',
            self.monitor,
            made,
        )
        self._server(
            'ceph-mon', '-i', 'a', '--mkfs', '--monmap', made, '--keyring', str(self.home / 'keyring')
        )
        self._daemon('mon', 'a')
        self._daemon('mgr', 'x')
        self._commands(
            'config set mgr mgr/devicehealth/enable_monitoring false --force',
            f'osd new {osd} 0',
            *(line for name in self._filesystems for line in self._new(name)),
        )
        self._server('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osd)
        self._daemon('osd', '0')
        for name in self._servers:
            self._daemon('mds', name)
        self.addCleanup(self._hang_up)  # first of all: the library waits for nobody then
        self.wait_usable()

    @staticmethod
    def _new(filesystem: str) -> list[str]:
        return [
            f'osd pool create {filesystem}.meta 4',
            f'osd pool create {filesystem}.data 4',
            f'fs new {filesystem} {filesystem}.meta {filesystem}.data',
        ]

    def add_shared_pool(self, name: str) -> None:
        """Add a pool for what several hosts of the share service share, and let the service use it."""
        caps = SERVICE_CAPS | {'osd': f'{SERVICE_CAPS["osd"]}, allow rw pool={name}'}
        self._commands(
            f'osd pool create {name} 4',
            f'osd pool application enable {name} manila_lite',
            'auth caps client.manila ' + ' '.join(f"{service} '{cap}'" for service, cap in caps.items()),
        )

    def remove_shared_pool(self, name: str) -> None:
        """Remove the pool, and take what the service may do to it away."""
        self._commands(
            'auth caps client.manila '
            + ' '.join(f"{service} '{cap}'" for service, cap in SERVICE_CAPS.items()),
            f'osd pool rm {name} {name} --yes-i-really-really-mean-it',
        )

    @property
    def has_nfs(self) -> bool:
        """Whether the module for NFS clusters is enabled."""
        return (self.home / 'modules' / NFS_MODULE).exists()

    def enable_nfs(self) -> None:
        """Enable the manager's module for NFS clusters, if it is not. It finds them by what is in its pool."""
        if self.has_nfs:
            return
        (self.home / 'modules' / NFS_MODULE).symlink_to(_MODULES_OF_DEBIAN / NFS_MODULE)
        self._commands(
            f'osd pool create {NFS_POOL} 4',
            f'osd pool application enable {NFS_POOL} nfs',
            f'mgr module enable {NFS_MODULE} --force',
        )

    def add_nfs_cluster(self, name: str) -> None:
        """Make an NFS cluster without gateways, once its module is enabled."""
        self._run(
            'rados',
            '--conf',
            str(self.admin_conf),
            '--pool',
            NFS_POOL,
            '--namespace',
            name,
            'create',
            f'conf-nfs.{name}',
        )
        waiting.until(lambda: self._has_nfs_cluster(name), self._why_not, pause=0.1)

    def _has_nfs_cluster(self, name: str) -> bool:
        return self._succeeds('nfs', 'export', 'ls', name)

    def add_pool(self, filesystem: str, name: str) -> None:
        """Add a data pool to a file system."""
        self._commands(f'osd pool create {name} 4', f'fs add_data_pool {filesystem} {name}')

    # Daemons ----------------------------------------------------------------------------------

    def _daemon(self, kind: str, ident: str) -> None:
        daemon = CephDaemon(self, kind, ident)
        self.daemons[daemon.name] = daemon
        self.useFixture(daemon)

    def kill(self, name: str) -> None:
        """Kill a daemon, as in a crash."""
        self.daemons[name].abort()
        self._hang_up()  # a command to a manager that was killed may hang

    def start(self, name: str) -> None:
        """Start a daemon that was killed."""
        self.daemons[name].start()

    def wait_usable(self) -> None:
        """Wait until the volumes module answers for each file system."""
        for name in self._filesystems:
            waiting.until(lambda name=name: self._is_usable(name), self._why_not, pause=0.1)

    def _is_usable(self, filesystem: str) -> bool:
        dead = [
            daemon for daemon in self.daemons.values() if daemon.process and daemon.process.poll() is not None
        ]
        if dead:
            raise Broken(f'{dead[0].name} ended: {dead[0].tail()}')
        return self._succeeds('fs', 'subvolume', 'ls', filesystem)

    def _succeeds(self, *words: str) -> bool:
        answer = self._ceph(*words, seconds=_POLL)
        self._said = f'{answer.output}{answer.said}'
        return answer.number == 0

    def _why_not(self) -> str:
        return f'Ceph is usable: {self._said[-1000:]}'

    # Commands ---------------------------------------------------------------------------------

    def ask(self, *words: str) -> Any:
        """Return what a command of the administrator answers, read as JSON if it is.

        :raises Broken: it failed.
        """
        answer = self._ceph(*words)
        if answer.number:
            raise Broken(f'ceph {" ".join(words)}: exit {answer.number}: {answer.said[-1000:]}')
        try:
            return json.loads(answer.output)
        except ValueError:
            return answer.output.strip()

    def client_conf(self, ident: str, key: str, *, monitor: str = '') -> Path:
        """Return a new configuration file of a client with this id and key."""
        folder = self.home / 'clients'
        keyring = folder / f'{ident}.keyring'
        keyring.touch(0o600)
        keyring.write_text(f'[client.{ident}]\n\tkey = {key}\n')
        conf = folder / f'{ident}.conf'
        conf.write_text(_CLIENT.format(fsid=self.fsid, monitor=monitor or self.monitor, keyring=keyring))
        return conf

    def _ceph(self, *words: str, seconds: float = 120) -> Answer:
        """Return the answer to a command: by a connection, or by the program where this Python has not the bindings."""
        try:
            return self._line.ask(words, seconds) if self._line else self._run_ceph(words, seconds)
        except (ceph_line.Silent, subprocess.TimeoutExpired) as silent:
            self._hang_up()
            return Answer(errno.ETIMEDOUT, said=str(silent))

    def _run_ceph(self, words: Sequence[str], seconds: float) -> Answer:
        done = subprocess.run(
            [
                *self.inside,
                program('ceph'),
                '--conf',
                str(self.admin_conf),
                '--connect-timeout',
                '20',
                '--format',
                'json',
                *words,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self._environment(),
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def _hang_up(self) -> None:
        if self._line:
            self._line.close()

    def _commands(self, *lines: str) -> None:
        for line in lines:
            self.ask(*shlex.split(line))

    def _server(self, name: str, *words: str) -> None:
        self._run(name, '--conf', str(self.server_conf), *words)

    def _run(self, name: str, *words: str) -> str:
        done = subprocess.run(
            [*self.inside, program(name), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors='replace',
            timeout=waiting.LIMIT,
            cwd=self.home,
            env=self._environment(),
            check=False,
        )
        if done.returncode:
            raise Broken(f'{name}: exit {done.returncode}: {done.stdout[-1000:]}{done.stderr[-2000:]}')
        return done.stdout

    def _environment(self) -> Mapping[str, str]:
        return {
            'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
            'LC_ALL': 'C.UTF-8',
            'HOME': str(self.home),
            'TMPDIR': str(self.home),
        }


class FuseMount(fixtures.Fixture):
    """A native mount by ``ceph-fuse``, as a tenant makes it: with an id and its key, from the export location of a share."""

    def __init__(self, ceph: Ceph, filesystem: str, ident: str, key: str, path: str, *more: str):
        super().__init__()
        self._ceph = ceph
        self._filesystem = filesystem
        self._ident, self._key, self._path, self._more = ident, key, path, more
        self.process: subprocess.Popen | None = None

    def _setUp(self) -> None:
        if not shutil.which('fusermount3'):
            raise Missing('fuse3 is not installed (tools/setup-env does that)')
        self.home = Path(self.useFixture(fixtures.TempDir()).path)
        self.root = self.home / 'mount'
        self.root.mkdir()
        conf = self.home / 'ceph.conf'
        (self.home / 'keyring').write_text(f'[client.{self._ident}]\n\tkey = {self._key}\n')
        conf.write_text(
            _CLIENT.format(fsid=self._ceph.fsid, monitor=self._ceph.monitor, keyring=self.home / 'keyring')
            + f'log file = {self.home}/log\nadmin socket =\nclient mount timeout = 15\n'
        )
        self._words = [
            program('setpriv'),
            '--pdeathsig',
            'KILL',
            '--',
            program('ceph-fuse'),
            '-f',
            '--conf',
            str(conf),
            '--id',
            self._ident,
            '--client_fs',
            self._filesystem,
            '-r',
            self._path,
            *self._more,
            str(self.root),
        ]
        self.addCleanup(self.end)

    def mount(self) -> Path:
        """Mount the share; return where.

        :raises PermissionError: the cluster refuses.
        """
        with (self.home / 'out').open('wb') as out:
            self.process = subprocess.Popen(
                self._words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        waiting.until(lambda: self.root.is_mount() or self.process.poll() is not None, self.said, pause=0.02)
        if not self.root.is_mount():
            raise PermissionError(f'ceph-fuse: exit {self.process.returncode}: {self.said()}')
        return self.root

    def said(self) -> str:
        """Return what the client printed."""
        return (self.home / 'out').read_text(errors='replace')[-1000:]

    def pause(self) -> None:
        """Stop the client: it keeps what it holds of the file system, and answers nobody."""
        self.process.send_signal(signal.SIGSTOP)

    def end(self) -> None:
        """Unmount. A client that does not answer any more is killed; what it held is free only after a while."""
        if self.process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            # limit: it goes by force after it
            subprocess.run(['umount', str(self.root)], capture_output=True, timeout=5, check=False)
            self.process.wait(5)  # limit: it goes by force after it
        self.process.kill()
        self.process.wait()
        subprocess.run(
            ['umount', '--lazy', str(self.root)], capture_output=True, timeout=waiting.LIMIT, check=False
        )


#: Classes of tests that use the shared cluster.
TOGETHER = lasting.Group('ceph')


@TOGETHER.keep
def shared() -> Ceph:
    """Return the cluster of the classes of this group. Its users remove their shares.

    :raises Missing: a program is not installed.
    """
    cluster = Ceph()
    cluster.setUp()
    TOGETHER.at_end(cluster.cleanUp)
    return cluster
