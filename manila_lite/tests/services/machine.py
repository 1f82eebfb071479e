# SPDX-License-Identifier: Apache-2.0
"""A machine with Debian 12, fresh from its packages, with its own systemd: in namespaces of the kernel that runs.

``tools/fresh-debian`` makes the file system. A machine changes only a layer above it, has only a loopback, and cannot set the
clock. What is on this machine is not touched, but for the block devices that it is given.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import fixtures

from manila_lite.tests import waiting
from manila_lite.tests.services import environments
from manila_lite.tests.services.daemon import Broken, Missing, program

ROOT = Path(__file__).resolve().parents[3]
#: Where packages of Python are in the machine.
_PYTHON = '/var/cache/python'
#: What the kernel tells of its btrfs file systems; the driver reads the limits of shares there.
_BTRFS = '/sys/fs/btrfs'
#: Addresses of the machine, from the block for documentation.
ADDRESSES = ('192.0.2.11', '192.0.2.12')
#: Names under which pages know the hosts of an installation. It is all of them.
NAMES = ('store1', 'db1', 'mq1', 'mq2', 'cache1', 'shares.example.org')
#: Seconds until a machine has booted, or is down.
#: Joins a cgroup of its own, puts the layer over the tree, and becomes the program.
_START = 'set -e; echo $$ >"$1"; mount -t overlay overlay -o "$2" "$3"; shift 3; exec "$@"'
#: Runs a command as a shell that stays would: where the one before it was, with the variables that it exported.
_TYPED = """cd /root
[ ! -e /run/typed ] || . /run/typed
{command}
status=$?
{{ export -p; printf 'cd %q\\n' "$PWD"; }} >/run/typed
exit $status
"""
#: The end of what a command has printed when it waits for a password: 'Re-type new password: ', 'Enter it again: '.
_ASKS = re.compile(r'(?i)(password|again)[^\n]*: ?$')
_ENV = {
    'HOME': '/root',
    'LANG': 'C.UTF-8',
    'SHELL': '/bin/bash',
    'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
}


class Disk(fixtures.Fixture):
    """A block device, above a sparse file of some GiB. ``device``: its path."""

    def __init__(self, gib: int = 8) -> None:
        super().__init__()
        self._gib = gib

    def _setUp(self) -> None:
        image = Path(self.useFixture(fixtures.TempDir()).path, 'image')
        with image.open('wb') as file:
            file.truncate(self._gib << 30)
        self.device = _out(program('losetup'), '--find', '--show', str(image))
        # It goes with the last mount of it, if there is one yet.
        self.addCleanup(_out, program('losetup'), '--detach', self.device)


class Machine(fixtures.Fixture):
    """A machine that has booted; it ends with the fixture. ``disks``: block devices of this machine by their path inside."""

    def __init__(self, disks: dict[str, str]) -> None:
        super().__init__()
        self._disks = disks
        self._nspawn: subprocess.Popen | None = None

    def _setUp(self) -> None:
        self._nspawn_path = program('systemd-nspawn')
        if os.geteuid():
            raise Missing('root')
        if not Path(_BTRFS).exists():
            raise Missing(f'btrfs in the kernel ({_BTRFS})')
        self._debian = environments.find('debian', 'made')
        self.home = Path(self.useFixture(fixtures.TempDir()).path)
        # A name may have no underscore, nor end with a hyphen.
        self.name = f'mlm-{self.home.name.replace("_", "0")}'
        for name in ('upper', 'work', 'root'):
            (self.home / name).mkdir()
        self._prepare(self.home / 'upper')
        self._cgroup = _cgroup() / self.name
        self._cgroup.mkdir()
        self.addCleanup(self._remove)
        self._boot('running')

    def _prepare(self, root: Path) -> None:
        """Write what an administrator finds or has set: names, a place for packages, and answers that no page is about."""
        for path, text in {
            'etc/hostname': f'{NAMES[0]}\n',
            'etc/hosts': ''.join(
                f'{address} {name}\n'
                for address, name in [
                    ('127.0.0.1', 'localhost'),
                    ('::1', 'localhost'),
                    *((ADDRESSES[0], name) for name in NAMES),
                ]
            ),
            'etc/pip.conf': f'[global]\nno-index = true\nfind-links = {_PYTHON}\ndisable-pip-version-check = true\n'
            '[install]\nno-compile = true\n',
            'etc/systemd/system/documentation.service': '[Service]\nType=oneshot\nRemainAfterExit=yes\n'
            + ''.join(f'ExecStart=/sbin/ip address add {address}/24 dev lo\n' for address in ADDRESSES),
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        wants = root / 'etc/systemd/system/sysinit.target.wants'
        wants.mkdir()
        (wants / 'documentation.service').symlink_to('../documentation.service')

    def _boot(self, *states: str) -> None:
        """Start the machine, and wait until systemd says that it is in one of these states."""
        layers = {
            'lowerdir': self._debian / 'tree',
            'upperdir': self.home / 'upper',
            'workdir': self.home / 'work',
        }
        options = ','.join([*(f'{name}={path}' for name, path in layers.items()), 'volatile'])
        words = [
            # It ends with the tests, however these end.
            program('setpriv'),
            '--pdeathsig',
            'KILL',
            '--',
            program('unshare'),
            '--mount',
            program('sh'),
            '-c',
            _START,
            'sh',
            str(self._cgroup / 'cgroup.procs'),
            options,
            str(self.home / 'root'),
            self._nspawn_path,
            '--quiet',
            '--boot',
            f'--directory={self.home / "root"}',
            f'--machine={self.name}',
            '--register=no',
            '--keep-unit',
            '--private-network',
            '--resolv-conf=off',
            '--timezone=off',
            '--link-journal=no',
            '--console=pipe',
            f'--bind-ro={self._debian / "python"}:{_PYTHON}',
            # NFS-Ganesha finds files by their handles.
            '--system-call-filter=open_by_handle_at',
            f'--bind-ro={_BTRFS}',
            *(f'--bind={device}:{inside}' for inside, device in self._disks.items()),
        ]
        with (self.home / 'console').open('ab') as console:
            self._nspawn = subprocess.Popen(
                words,
                env=os.environ | {'SYSTEMD_NSPAWN_UNIFIED_HIERARCHY': '1'},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )
        waiting.until(lambda: self._is_up(states), self.tail)

    def reboot(self) -> None:
        """Shut the machine down, and boot it again with what it has written."""
        subprocess.run(
            self._shell('systemctl reboot'),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=waiting.LIMIT,
        )
        self._nspawn.wait(waiting.LIMIT)
        # It forbids a second mount, since the layer may not be on the disk; that matters only if this machine has crashed.
        shutil.rmtree(self.home / 'work/work/incompat')
        waiting.until(self._swept, f'{self._cgroup} is empty')
        self._cgroup.mkdir()
        # Packages may have brought units that cannot work in namespaces, as those of the kernel's own NFS.
        self._boot('running', 'degraded')

    def _is_up(self, states: Sequence[str]) -> bool:
        if self._nspawn is None or self._nspawn.poll() is not None:
            raise Broken(f'the machine ended: {self.tail()}')
        return bool(self._leader()) and self.run('systemctl is-system-running').stdout.strip() in states

    def _leader(self) -> int:
        """Return the process that is the first in the machine, or 0."""
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((self._cgroup / 'payload/init.scope/cgroup.procs').read_text().split()[0])
        return 0

    def enter(self, *namespaces: str) -> list[str]:
        """Return the beginning of a command line that runs inside: in these of the machine's namespaces, or in all."""
        return [
            program('nsenter'),
            f'--target={self._leader()}',
            *(f'--{name}' for name in namespaces or ('all',)),
            '--',
        ]

    def run(self, command: str, typed: str = '', seconds: float = 600) -> subprocess.CompletedProcess:
        """Run a command in root's shell, with ``typed`` as its input; return it with its output."""
        return subprocess.run(
            self._shell(command),
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            timeout=seconds,
        )

    def converse(self, command: str, password: str, seconds: float = 600) -> subprocess.CompletedProcess:
        """Run a command at a terminal, and type the password each time it asks for one; return it with its output."""
        words = self._shell(f'script --quiet --return --command {shlex.quote(command)} /dev/null')
        said = ''
        with subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            bufsize=1,
        ) as process:
            guard = threading.Timer(seconds, process.kill)
            guard.start()
            # A program that is about to ask throws away what was typed before.
            while letter := process.stdout.read(1):
                said += letter
                if _ASKS.search(said):
                    said += '\n'
                    process.stdin.write(f'{password}\n')
                    process.stdin.flush()
            guard.cancel()
        return subprocess.CompletedProcess(words, process.returncode, said)

    def _shell(self, command: str) -> list[str]:
        return [
            *self.enter(),
            '/usr/bin/env',
            '-i',
            *(f'{name}={value}' for name, value in _ENV.items()),
            'setsid',
            '--wait',
            'bash',
            '-c',
            _TYPED.format(command=command),
        ]

    def file(self, path: str) -> Path:
        """Return where a file of the machine is from outside, for reading and writing."""
        return Path(f'/proc/{self._leader()}/root', path.lstrip('/'))

    def tail(self) -> str:
        """Return the end of what the machine wrote on its console."""
        return (self.home / 'console').read_text(errors='replace')[-3000:]

    def _remove(self) -> None:
        """End all processes of the machine at once, as when its power is cut, and remove what is left of it."""
        if self._nspawn is not None:
            # With its first process all others end, and then systemd-nspawn itself, which removes its files.
            leader = self._leader()
            if leader:
                os.kill(leader, signal.SIGKILL)
            else:
                self._nspawn.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._nspawn.wait(waiting.LIMIT)
            (self._cgroup / 'cgroup.kill').write_text('1')
            self._nspawn.wait()
        waiting.until(self._swept, f'{self._cgroup} is empty')
        _removed(Path('/run/systemd/nspawn/propagate', self.name))

    def _swept(self) -> bool:
        """Remove the cgroups of the machine, which have no processes any more; say whether they are gone."""
        folders = sorted((path for path in self._cgroup.rglob('*') if path.is_dir()), reverse=True)
        return all(_removed(folder) for folder in [*folders, self._cgroup])


def copy_checkout(root: Path, into: Path) -> None:
    """Copy the files of a checkout that git knows or would add."""
    listed = subprocess.run(
        ['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
        check=True,
        capture_output=True,
        text=True,
        timeout=waiting.LIMIT,
    ).stdout
    for name in filter(None, listed.split('\0')):
        if (root / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, into / name)


def _removed(folder: Path) -> bool:
    """Remove an empty folder; say whether it is gone."""
    with contextlib.suppress(FileNotFoundError):
        try:
            folder.rmdir()
        except OSError:
            return False
    return True


def _cgroup() -> Path:
    """Return the cgroup of this process, of version 2."""
    mounted = next(
        line.split()[1]
        for line in Path('/proc/self/mounts').read_text().splitlines()
        if line.split()[2] == 'cgroup2'
    )
    mine = next(line for line in Path('/proc/self/cgroup').read_text().splitlines() if line.startswith('0::'))
    return Path(mounted, mine.removeprefix('0::').lstrip('/'))


def _out(*words: str) -> str:
    return subprocess.run(
        words, check=True, capture_output=True, text=True, timeout=waiting.LIMIT
    ).stdout.strip()
