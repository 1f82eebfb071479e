# SPDX-License-Identifier: Apache-2.0
"""A server program that tests start, wait for, and end by its process id; it ends when the tests end."""

import http.client
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

import fixtures

from manila_lite.tests import hush, process, waiting
from manila_lite.tests.services import groups

#: Where Debian keeps programs that are not on every user's PATH.
_PLACES = '/usr/sbin:/sbin:/usr/lib/rabbitmq/bin'

#: Exit status of a command if a program is not installed, automake's for "skipped".
MISSING = 77


class Missing(Exception):
    """A program that is needed is not installed."""


class Broken(Exception):
    """A server did not come up."""


def program(name: str, places: str = _PLACES) -> str:
    """Return the path of a program.

    :raises Missing: it is not installed.
    """
    path = f'{places}:{os.environ.get("PATH", os.defpath)}'
    if found := shutil.which(name, path=path):
        return found
    groups.want_program(name)
    if found := shutil.which(name, path=path):
        return found
    raise Missing(f'{name} is not installed (tools/setup-env --all does that)')


def exit_on_signals() -> None:
    """Have signals to end raise SystemExit, so that servers are ended, too. For commands that start some."""
    for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signo, _exit)


def _exit(signo: int, frame: FrameType | None) -> None:
    signal.signal(signo, signal.SIG_IGN)  # a second signal would interrupt the end
    raise SystemExit(128 + signo)


def serves(port: int, path: str) -> bool:
    """Say whether an HTTP server on a port of the loopback answers 200 for the path."""
    probe = http.client.HTTPConnection('127.0.0.1', port, timeout=5)  # limit: a try; the caller repeats it
    try:
        probe.request('GET', path)
        return probe.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        probe.close()


class Daemon(fixtures.Fixture):
    """A server in a directory of its own. ``stop`` and ``start`` keep the directory, the ports and the password.

    It runs as the system user ``USER`` if we are root, since most servers refuse to be root.
    """

    USER = ''
    #: The signal for a clean and quick end.
    END = signal.SIGTERM
    ABORT = signal.SIGKILL
    PORTS: Sequence[str] = ('port',)

    def __init__(self) -> None:
        super().__init__()
        self.process: subprocess.Popen | None = None
        self.password = hush.secret('daemon')
        self.ports: dict[str, int] = {}
        #: Parent of its directory; by default that of all temporary files.
        self.root: str | None = None

    def _setUp(self) -> None:
        self.need()
        self.home = Path(self.useFixture(fixtures.TempDir(self.root)).path)
        self.home.chmod(0o700)
        self._own(self.home)
        self.addCleanup(self.abort)
        self.prepare()
        self._start_somewhere(3)

    def _start_somewhere(self, tries: int) -> None:
        """Start on free ports, and try others if another process takes one of them first."""
        self.ports = {name: process.free_port() for name in self.PORTS}
        try:
            self.start()
        except Broken:
            self.abort()
            if tries == 1:
                raise
            self._start_somewhere(tries - 1)

    def need(self) -> None:
        """Find every program.

        :raises Missing: one is not installed.
        """
        raise NotImplementedError

    def prepare(self) -> None:
        """Make files once, before the first start."""

    def command(self) -> list[str]:
        """Return the server's command line; it must stay in the foreground."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Say whether the server answers."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server, and wait until it answers.

        :raises Broken: it does not in time, or it ended.
        """
        with (self.home / 'out').open('ab') as out:
            self.process = subprocess.Popen(
                self._as_user(self.command()),
                cwd=self.home,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        end = time.monotonic() + waiting.LIMIT
        while not self.answers():
            status = self.process.poll()
            if status is not None or time.monotonic() > end:
                raise Broken(f'{type(self).__name__}: exit {status}\n{self.tail()}')
            time.sleep(0.05)  # sleeps: between two looks; the process is watched at each

    def stop(self) -> None:
        """End the server cleanly, or kill it if it does not end."""
        self._end(self.END, waiting.LIMIT)

    def abort(self) -> None:
        """Kill the server, as in a crash. May be called twice."""
        self._end(self.ABORT, 10.0)

    def pause(self) -> None:
        """Stop the server with SIGSTOP: it keeps its connections and does not answer until :meth:`go_on`."""
        os.kill(self._pid(), signal.SIGSTOP)

    def go_on(self) -> None:
        """Let a paused server continue."""
        os.kill(self._pid(), signal.SIGCONT)

    def _pid(self) -> int:
        if self.process is None:
            raise Broken(f'{type(self).__name__} does not run')
        return self.process.pid

    def tail(self) -> str:
        """Return the end of the server's output."""
        return (self.home / 'out').read_text(errors='replace')[-3000:]

    def environment(self) -> Mapping[str, str]:
        """Return environment variables of the server."""
        return {}

    def run(self, *command: str) -> str:
        """Run a program to its end as the server's user. Return what it said on standard error.

        :raises Broken: it failed.
        """
        done = subprocess.run(
            self._as_user(command),
            cwd=self.home,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors='replace',
            timeout=waiting.LIMIT,
            check=False,
        )
        if done.returncode:
            raise Broken(f'{command[0]}: exit {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}')
        return done.stderr

    def write(self, name: str, text: str) -> Path:
        """Return the path of a new file that only the server's user can read."""
        path = self.home / name
        path.touch(0o600)
        path.write_text(text)
        self._own(path)
        return path

    def _environment(self) -> dict[str, str]:
        return {
            'PATH': f'{os.environ.get("PATH", os.defpath)}:{_PLACES}',
            'LC_ALL': 'C.UTF-8',
            'HOME': str(self.home),
            'TMPDIR': str(self.home),
            **self.environment(),
        }

    def _as_user(self, command: Sequence[str]) -> list[str]:
        # The kernel ends the server when the thread that started it ends, for any reason.
        words = [program('setpriv'), '--pdeathsig', self.ABORT.name.removeprefix('SIG')]
        if os.geteuid() == 0 and self.USER:
            words += [f'--reuid={self.USER}', f'--regid={self._account().pw_gid}', '--init-groups']
        return [*words, '--', *command]

    def _account(self) -> pwd.struct_passwd:
        try:
            return pwd.getpwnam(self.USER)
        except KeyError:
            raise Missing(f'there is no system user {self.USER}') from None

    def _own(self, path: Path) -> None:
        if os.geteuid() == 0 and self.USER:
            os.chown(path, self._account().pw_uid, self._account().pw_gid)

    def _end(self, how: signal.Signals, patience: float) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
