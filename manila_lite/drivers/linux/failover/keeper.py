# SPDX-License-Identifier: Apache-2.0
"""The share manager's side of a shared pool: it tells the guard how long this host may serve, and starts and ends it."""

import contextlib
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from oslo_log import log

import manila_lite
from manila_lite import release
from manila_lite.drivers.linux.failover import changes, guard
from manila_lite.drivers.linux.failover.fence import Fence
from manila_lite.drivers.linux.failover.letting_go import has_remains
from manila_lite.drivers.linux.failover.task import FailoverTask
from manila_lite.host import ip
from manila_lite.host.commands import CommandFailed
from manila_lite.host.daemon import Daemon
from manila_lite.host.waits import until

LOG = log.getLogger(__name__)

#: Seconds to wait for a guard that mounts the pool: a large log takes long to replay. The guard goes on, and the next try
#: waits for it again; in between, the share manager can stop (systemd gives it 90 seconds) or pass the pool on.
_MOUNTS = 30.0
#: Seconds for a guard to let go before the share manager gives up waiting. The guard goes on.
_LETS_GO = 60.0
#: Where a guard finds this package.
_ROOT = str(Path(manila_lite.__file__).parents[1])


class Keeper:
    """The keeper of the pool on ``device`` of the backend whose state directory is ``state``. Safe for threads."""

    def __init__(self, device: Path, state_dir: Path, fabric: str, fence: Fence):
        self._device = device
        self._state_dir = state_dir
        self._fabric = fabric
        self._fence = fence
        self._files = self._task().files
        self._guard = Daemon(self._files.record)
        self._lock = threading.Lock()
        self._serving = ''  # the guard that this share manager knows

    def _task(self, seen: str = '', token: str = '') -> FailoverTask:
        return FailoverTask(str(self._device), str(self._state_dir), self._fabric, token, seen)

    @property
    def guarded(self) -> bool:
        """Say whether a guard has the pool for this backend, as it is configured."""
        return self._files.serving.exists() and not self._files.fenced.exists() and self._has_guard()

    def _has_guard(self) -> bool:
        """Say whether a guard runs for this backend, as it is configured. It may still be mounting the pool."""
        return self._guard.runs and self._guard.start_key == _start_key(self._task(token=self._files.token()))

    # Lease ------------------------------------------------------------------------------------

    def take_up(self, until: float) -> None:
        """Allow this host to serve until then, after all remains of an earlier time are gone.

        :raises CommandFailed: some cannot be removed now.
        """
        self.stand_back()
        self._files.allow_until(until)

    def keep(self, until: float) -> bool:
        """Allow this host to serve until then, unless its guard has begun to let go. Returns whether it may serve.

        :raises CommandFailed: the guard died, and no other one can be started.
        """
        if not self._files.fenced.exists():
            self._files.allow_until(until)
        if self._files.fenced.exists():  # looks again: the guard may have begun just now
            return False
        if self._files.serving.exists() and not self._guard.runs:
            LOG.error('The guard of the pool on %s died; another one is started', self._device)
            self.acquire()
        return True

    def presence(self) -> str:
        """Return the name of the guard that has the pool, '' if none has, or may."""
        return changes.presence(self._files)

    def stand_back(self) -> None:
        """Remove all that is here of the pool, unless a guard has it and this host may still serve.

        :raises CommandFailed: something uses the pool; the guard goes on to remove it.
        """
        with self._lock:
            is_there = self._guard.runs
            if is_there and not self._files.fenced.exists() and self._files.may_serve():
                return
            self._let_go()
            self._files.serving.unlink(missing_ok=True)
            self._files.fenced.unlink(missing_ok=True)

    def release(self) -> None:
        """Let go of the pool now.

        :raises CommandFailed: something uses the pool; the guard goes on to remove it.
        """
        with self._lock:
            self._let_go()

    def leave(self) -> None:
        """Let go of the pool now, and do not hold it again before ``stand_back``: another host is to have it.

        :raises CommandFailed: something uses the pool; the guard goes on to remove it.
        """
        with self._lock:
            with contextlib.suppress(OSError):  # a full disk of the host must not keep the pool here
                self._files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._files.fenced.write_text('another host is to serve')
            self._let_go()

    def obstacle(self) -> str:
        """Return the reason why this host could not have the pool, or ''."""
        if not self._device.is_block_device():
            return f'{self._device} is not a block device of this host'
        try:
            self._fence.observe(self._device)
        except CommandFailed as bad:
            return str(bad)
        return (
            ''
            if not self._fabric or ip.is_there(self._fabric)
            else f'there is no network namespace {self._fabric}'
        )

    def _let_go(self) -> None:
        """Have the guard let go, or a new one if none runs and something is left."""
        if process := self._guard.process():
            process.terminate()
        elif not has_remains(self._task()):
            return
        else:
            self._task(token=self._files.token()).write()
            self._start(guard.LET_GO)
        self._wait(
            lambda: not self._guard.runs, _LETS_GO, 'is still in use here, so this host stands back for now'
        )

    # Pool -------------------------------------------------------------------------------------

    def acquire(self) -> bool:
        """Have a guard mount the pool, once no other host has it. Returns whether none had it here.

        :raises CommandFailed: another host has the pool, cannot be fenced, or the pool cannot be mounted.
        """
        with self._lock:
            if self.guarded:
                self._serving = self._files.served_by()
                return False
            if self._files.fenced.exists() or not self._files.may_serve():
                raise CommandFailed(f'this host may not serve the pool on {self._device} now')
            if self._files.serving.exists() or not self._has_guard():
                self._replace_guard()
            self._wait_for_mount()
            self._serving = self._files.served_by()
            return True

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """Make a namespace, an address, a mount or a server in this context; the guard lets go only after its end.

        :raises CommandFailed: the guard has let go since ``hold``, or is about to do it.
        """
        with changes.change(self._files, self._serving):
            yield

    def _replace_guard(self) -> None:
        if not self._device.is_block_device():
            raise CommandFailed(f'{self._device} is not a block device of this host; a shared pool needs one')
        token = self._files.token()
        seen = self._fence.settle(self._device, token, str(self._state_dir), socket.gethostname())
        if process := self._guard.process():  # of an earlier release or configuration; what it mounted stays
            process.kill()
            self._wait(lambda: not self._guard.runs, _LETS_GO, 'has a guard that does not end')
        self._files.serving.unlink(missing_ok=True)
        self._task(str(seen), token).write()
        self._start()

    def _wait_for_mount(self) -> None:
        self._wait(
            lambda: self._files.serving.exists() or not self._guard.runs, _MOUNTS, 'is not mounted yet'
        )
        if not self._files.serving.exists():
            said = self._files.log.read_text(errors='replace').strip().splitlines()[-1:]
            raise CommandFailed(f'The pool on {self._device} cannot be mounted: {"".join(said)}')

    def _start(self, *more: str) -> None:
        token = self._files.token()
        words = [sys.executable, '-m', guard.__name__, str(self._files.folder / 'task.json'), *more]
        self._guard.start(
            words, self._files.log, start_key=_start_key(self._task(token=token)), env={'PYTHONPATH': _ROOT}
        )

    def _wait(self, done: Callable[[], bool], seconds: float, otherwise: str) -> None:
        if not until(done, seconds):
            raise CommandFailed(f'The pool on {self._device} {otherwise}; see {self._files.log}')


def _start_key(task: FailoverTask) -> str:
    """Return a text that differs for every other task, and release. The guard starts sooner without that."""
    return json.dumps([task.device, task.state, task.fabric, task.token, release.VERSION])
