# SPDX-License-Identifier: Apache-2.0
"""Hosts of the cloud: namespaces with a network of their own, which outlive the command that made them.

Nothing is written down about who runs: the process that holds a host has the host's folder in its environment, and programs
are found by their process id within the host. So a command that was cut off anywhere leaves nothing that another cannot end.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil

from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import failover_base

_MARK = 'MANILA_LITE_CLOUD_HOST'
_HOLDER = (
    'unshare',
    '--mount',
    '--pid',
    '--uts',
    '--net',
    '--fork',
    '--propagation',
    'private',
    '--mount-proc',
)
_NOTE_PID = 'echo $$ >"$0"; exec "$@"'
BRIDGE = 'br0'


def _holders(folder):
    """Yield the processes that hold the hosts whose folders are in this one, or are this one."""
    for one in psutil.process_iter(['name']):
        with contextlib.suppress(psutil.Error):
            if one.info['name'] == 'sleep' and Path(one.environ().get(_MARK, '/')).is_relative_to(folder):
                yield one


class Host(failover_base.Host):
    """A host with the address on the cloud's network; ``state``: that of the cloud."""

    def __init__(self, state, name, address):
        self.name, self.address, self.cloud = name, address, state
        self.own, self._state = state / 'hosts' / name, state / 'lib'
        self._found = None

    def _holder(self):
        if self._found is None or not self._found.is_running():
            self._found = next(_holders(self.own), None)
        return self._found

    def is_up(self):
        """Say whether the host is there."""
        return self._holder() is not None

    @property
    def network(self):
        """Return the file of the network namespace."""
        return Path(f'/proc/{self._holder().pid}/ns/net')

    def boot(self, switch):
        """Set the host up, with a cable to the switch, unless it is."""
        if self.is_up():
            return
        (self.own / 'state').mkdir(parents=True, exist_ok=True)
        (self.own / 'state').chmod(0o700)
        shutil.rmtree(self.own / 'pids', ignore_errors=True)
        (self.own / 'pids').mkdir()
        subprocess.Popen(
            [*_HOLDER, 'sleep', 'infinity'],
            env=os.environ | {_MARK: str(self.own)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        waiting.until(self._holder, f'the host {self.name} is there')
        self._leave_others()
        self.run('hostname', self.name)
        self.run('mount', '-t', 'tmpfs', 'run', '/run')
        self.run('mount', '--bind', str(self.own / 'state'), str(self._state))
        self.run('mount', '--bind', str(self.cloud / 'names'), '/etc/hosts')
        self.run('ip', 'link', 'set', 'lo', 'up')
        if switch:
            self._connect(switch)

    def _connect(self, switch):
        switch.cable(f'p-{self.name}', 'eth0', self)
        self.run('ip', 'address', 'add', f'{self.address}/24', 'dev', 'eth0')
        self.run('ip', 'link', 'set', 'eth0', 'up')

    def cable(self, port, end, host):
        """Lay a cable from a port of the bridge of this host to another host, where its end has this name."""
        pid = host.network.parts[2]
        self.net('ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', end, 'netns', pid)
        self.net('ip', 'link', 'set', port, 'master', BRIDGE, 'up')

    def net(self, *words):
        """Run a command of the machine in the network of the host; return its output."""
        return failover_base.base.command('nsenter', f'--net={self.network}', *words)

    def add_bridge(self, name=BRIDGE):
        """Make this host a switch."""
        self.run('ip', 'link', 'add', name, 'type', 'bridge', 'mcast_snooping', '0')
        self.run('ip', 'link', 'set', name, 'up')

    def add_fabric(self, switch):
        """Connect the bridge of share servers to the switch, as an administrator does."""
        up = f'up-{self.name}'
        switch.cable(f'd-{self.name}', up, self)
        self.run('ip', 'netns', 'add', 'fabric')
        self.run('ip', 'link', 'set', up, 'netns', 'fabric')
        inside = 'ip', '-n', 'fabric', 'link'
        self.run(*inside, 'add', failover_base.BRIDGE, 'type', 'bridge', 'mcast_snooping', '0')
        self.run(*inside, 'set', up, 'master', failover_base.BRIDGE)
        for link in ('lo', up, failover_base.BRIDGE):
            self.run(*inside, 'set', link, 'up')

    def mounted(self):
        """Return the mount points of the share service."""
        return [place for place in self._mount_points() if place.startswith(f'{self._state}/')]

    def set_clock(self, seconds):
        """Set the clock of programs with one of their own so many seconds before (+) or behind the right time."""
        with self._clock.open('r+b' if self._clock.exists() else 'wb') as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))

    @property
    def _clock(self):
        return self.own / 'clock'

    def own_clock(self):
        """Return the environment of a program that has a clock of its own."""
        if not self._clock.exists():
            self.set_clock(0)
        return {'LD_PRELOAD': str(_compiled(self.cloud)), 'CLOCK_OFFSET': str(self._clock)}

    # Programs -------------------------------------------------------------------------------------

    def home(self, name, user=None):
        """Return the folder of a program, which only its user can read."""
        folder = self.own / name
        if not folder.exists():
            folder.mkdir(mode=0o700)
            shutil.chown(folder, user or 'root')
        return folder

    def write(self, name, file, text, user=None):
        """Write a file into the folder of a program; return its path."""
        path = self.home(name, user) / file
        path.unlink(missing_ok=True)
        path.touch(0o600)
        path.write_text(text)
        shutil.chown(path, user or 'root')
        return path

    def start(self, name, command, user=None, env=()):
        """Start a program, which stays in the foreground, unless it runs. Its output goes to ``out`` in its folder."""
        if self.program(name):
            return
        home = self.home(name, user)
        words = [*self._as(user), *map(str, command)]
        with (home / 'out').open('ab') as out:
            subprocess.Popen(
                self.inside('sh', '-c', _NOTE_PID, str(self.own / 'pids' / name), *words),
                cwd=home,
                env=_environment(home) | dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        waiting.until(lambda: self.program(name) or self.tail(name), f'{name} is started on {self.name}')

    def serves(self, name, port):
        """Wait until a program accepts connections at a port.

        :raises OSError: it has ended.
        """

        def served():
            if not self.program(name):
                raise OSError(f'{name} ended on {self.name}:\n{self.tail(name)}')
            return accepts(self.address, port)

        waiting.until(served, lambda: f'{name} answers on {self.name}\n{self.tail(name)}', pause=0.2)

    def complete(self, name, command, user=None, env=()):
        """Run a command to its end as a program's user, in the program's folder; return its output."""
        home = self.home(name, user)
        words = self.inside(*self._as(user), *map(str, command))
        done = subprocess.run(
            words,
            cwd=home,
            env=_environment(home) | dict(env),
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        if done.returncode:
            raise OSError(
                f'{command[0]} on {self.name}: exit {done.returncode}\n{done.stdout[-800:]}{done.stderr[-1500:]}'
            )
        return done.stdout

    @staticmethod
    def _as(user):
        return ['setpriv', f'--reuid={user}', f'--regid={user}', '--init-groups', '--'] if user else []

    def started(self):
        """Return the names of programs that were started here since the host is up."""
        folder = self.own / 'pids'
        return sorted(os.listdir(folder)) if folder.exists() else []

    def program(self, name):
        """Return the process of a program; None if it does not run."""
        with contextlib.suppress(OSError, ValueError):
            wanted = int((self.own / 'pids' / name).read_text())
            return self.living().get(wanted)
        return None

    def living(self):
        """Return the processes of the host by their process ids there."""
        if not self.is_up():
            return {}
        space, found = os.stat(f'/proc/{self._holder().pid}/ns/pid').st_ino, {}
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                mine = os.stat(f'/proc/{one.pid}/ns/pid').st_ino == space
                if mine and one.status() != psutil.STATUS_ZOMBIE:
                    found[_inner(one.pid)] = one
        return found

    def kill(self, name, signo=signal.SIGKILL):
        """Send a signal to a program and to its children."""
        if program := self.program(name):
            self.signal([program, *program.children(recursive=True)], signo)

    def end(self, name):
        """End a program in order, if it runs. It may stay a zombie: after a SIGSTOP, nsenter(1) does not go on."""
        if program := self.program(name):
            program.terminate()
            waiting.until(
                lambda: not self.program(name), lambda: f'{name} of {self.name} ends\n{self.tail(name)}'
            )

    def tail(self, name):
        """Return the end of the output of a program."""
        file = self.own / name / 'out'
        return file.read_text(errors='replace')[-2000:] if file.exists() else ''

    def power_off(self):
        """Kill all processes of the host at once; the rest of it goes with them."""
        if holder := self._holder():
            self.signal([holder, *_waiting_for(holder.pid)], signal.SIGKILL)
            waiting.until(lambda: not holder.is_running(), f'{self.name} is off')
        self._found = None


def _compiled(folder):
    """Return the library of such clocks."""
    library = folder / 'clock.so'
    if not library.exists():
        failover_base.base.command(
            'gcc',
            '-shared',
            '-fPIC',
            '-O2',
            '-Wall',
            '-Werror',
            '-o',
            str(library),
            f'{Path(__file__).parent}/clock.c',
        )
    return library


def accepts(address, port):
    """Say whether a server accepts connections."""
    try:
        socket.create_connection((address, port), timeout=2).close()  # limit: a try, which is repeated
    except OSError:
        return False
    return True


def _inner(pid):
    """Return the process id of a process in the innermost namespace."""
    lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    return next(int(line.split()[-1]) for line in lines if line.startswith('NSpid:'))


def _waiting_for(holder):
    """Return the processes that wait for those of a host: they have its mounts."""
    found = []
    for one in psutil.process_iter(['name']):
        with contextlib.suppress(psutil.Error):
            if one.info['name'] == 'nsenter' and f'--target={holder}' in one.cmdline():
                found.append(one)
    return found


def _environment(home):
    """Return the environment of a program."""
    path = f'{os.environ.get("PATH", os.defpath)}:/usr/sbin:/sbin:/usr/lib/rabbitmq/bin'
    return {'PATH': path, 'LC_ALL': 'C.UTF-8', 'HOME': str(home), 'TMPDIR': '/tmp', 'PYTHONUNBUFFERED': '1'}  # noqa: S108 - of the host


def power_off_all(state):
    """End every host of a cloud, and every process on them, whatever made them."""
    for holder in list(_holders(state)):
        for one in [holder, *_waiting_for(holder.pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        waiting.until(lambda holder=holder: not holder.is_running(), 'a host is off')
