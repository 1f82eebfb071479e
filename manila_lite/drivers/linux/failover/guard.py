# SPDX-License-Identifier: Apache-2.0
"""The guard of a shared pool: a small process that has the pool mounted as long as this host may serve.

``python -m manila_lite.drivers.linux.failover.guard FILE`` reads its task from the file. The share manager writes the end
of its lease for the guard each time it renews it. When that time comes, or another host has marked the device, the guard
kills the share servers, removes their addresses, unmounts the pool and marks it as free. So this host lets go in time even
if its share manager died, hangs, or cannot reach the database. SIGTERM makes the guard let go at once; so does the second
argument ``--let-go``, for what a guard that was killed left.
"""

import contextlib
import signal
import sys
import threading
from pathlib import Path

from manila_lite.drivers.linux.failover import mark
from manila_lite.drivers.linux.failover.letting_go import is_free, let_go, say
from manila_lite.drivers.linux.failover.task import FailoverTask
from manila_lite.host import mounts
from manila_lite.host.commands import CommandFailed, run

LET_GO = '--let-go'
#: Seconds between beats, and between looks at the lease.
BEAT, _LOOK = 0.25, 0.1
#: Seconds between the first mark and the mount: longer than a beat.
_SETTLES = 0.4
#: Seconds for the last beat to end: the device may hang.
_LAST_BEAT = 5.0
#: Seconds for the pool to be mounted: a large log, and a large pool, take long. Its mark goes on beating meanwhile.
_MOUNTS = 3600.0
#: Options of the mounts. Records of NFS clients are not synced one by one, so they are written soon.
_POOL = ('-t', 'btrfs', '-o', 'noatime,commit=5')
#: The folder of share servers has the guard of file handles, a library that NFS-Ganesha loads. Clients cannot write there.
_SERVERS = 'remount,bind,nosuid,nodev,exec'
_NO_MORE_ALLOWED = 'the lease of the backend is not renewed; this host lets go of the pool'
_TOLD = 'told to let go of the pool'
_OUSTED = 'another host has marked the pool as its own; this host lets go'


class Guard:
    """The guard of one pool."""

    def __init__(self, task: FailoverTask):
        self._task = task
        self._files = task.files
        self._device = Path(task.device)
        self._told = threading.Event()
        self._ousted = threading.Event()
        self._unbeaten = threading.Event()
        self._beats = threading.Thread(target=self._beat, daemon=True)

    def run(self) -> None:
        """Have the pool until this host may not any more, or until ``end``.

        :raises CommandFailed: the pool cannot be had.
        """
        self._take()
        why = ''
        while not why:
            self._told.wait(_LOOK)
            why = self._why_not()
        self._leave(why)

    def leave(self) -> None:
        """Let go of all that another guard left."""
        try:
            is_mine = self._is_mine()
        except CommandFailed as bad:  # the servers and addresses have to go all the same
            say(str(bad))
            is_mine = False
        if is_mine:
            self._beats.start()
        else:
            self._ousted.set()
        self._leave(_TOLD)

    def _leave(self, why: str) -> None:
        with contextlib.suppress(OSError):  # a full disk of the host must not keep the pool here
            self._files.fenced.write_text(why)
        with contextlib.suppress(OSError):
            self._files.serving.unlink(missing_ok=True)
        say(why)
        let_go(self._task, alone=not self._ousted.is_set())
        self._set_free()
        say('nothing of the pool is here any more')

    def end(self) -> None:
        self._told.set()

    def _why_not(self) -> str:
        """Return the reason why this host may not serve, or ''."""
        if self._ousted.is_set():
            return _OUSTED
        if not self._files.may_serve():
            return _NO_MORE_ALLOWED
        return _TOLD if self._told.is_set() else ''

    def _require(self) -> None:
        if why := self._why_not():
            raise CommandFailed(why)

    def _take(self) -> None:
        """Mark the device and mount it.

        :raises CommandFailed: this host may not serve any more, the mark is not the one that the share manager judged, or the
            pool cannot be mounted.
        """
        self._vet()
        mark.write(self._device, self._task.marked())
        self._beats.start()
        try:
            # Had another host written its mark in the same moment, one of both would see it. A beat may come too late for that.
            if not self._ousted.wait(_SETTLES) and not self._is_mine():
                self._ousted.set()
            self._require()
            self._mount()
            self._require()  # that may have taken long
            self._files.begin_to_serve()
        except (CommandFailed, OSError):
            let_go(self._task, alone=not self._ousted.is_set())
            self._set_free()
            raise
        say(f'{self._task.device} is mounted at {self._task.root}')

    def _vet(self) -> None:
        found = mark.read(self._device)
        # An earlier guard of this host may have beaten once more since the share manager looked.
        if str(found) != self._task.seen and (found is None or found.token != self._task.token):
            self._ousted.set()
            let_go(self._task, alone=False)  # an earlier guard may have left it mounted
            raise CommandFailed(f'{self._device} was marked by another host meanwhile')
        if mounts.is_mounted(self._task.root):
            return
        self._require()  # before the mark, which would have another host let go
        if not is_free(self._device):
            raise CommandFailed(f'{self._device} is in use on this host already; unmount it')

    def _mount(self) -> None:
        root, servers = self._task.root, self._task.servers
        mounts.mount(self._task.device, root, *_POOL, seconds=_MOUNTS)
        (root / 'servers').mkdir(mode=0o700, exist_ok=True)
        if not mounts.is_mounted(servers):
            mounts.bind(root / 'servers', servers)
        run('mount', '-o', _SERVERS, str(servers))

    def _is_mine(self) -> bool:
        found = mark.read(self._device)
        return found is not None and found.token == self._task.token

    def _beat(self) -> None:
        """Renew the mark until told to stop, unless another host replaced it."""
        beat = 0
        while not self._unbeaten.wait(BEAT):
            try:
                if not self._is_mine():
                    self._ousted.set()
                    return
                beat += 1
                mark.write(self._device, self._task.marked(beat))
            except Exception as bad:  # without beats, another host would take this one for dead
                say(str(bad))

    def _set_free(self) -> None:
        self._unbeaten.set()
        if self._beats.ident:
            self._beats.join(_LAST_BEAT)
        if not self._beats.is_alive() and not self._ousted.is_set():
            with contextlib.suppress(CommandFailed):  # the next host then waits, as for one that died
                mark.write(self._device, self._task.marked(free=True))


def main() -> None:
    """Guard until the pool has to be free."""
    with contextlib.suppress(OSError):
        Path('/proc/self/oom_score_adj').write_text('-1000')  # the last process to go when memory is short
    guard = Guard(FailoverTask.read(Path(sys.argv[1])))
    for signo in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signo, lambda *_: guard.end())
    try:
        guard.leave() if LET_GO in sys.argv[2:] else guard.run()
    except (CommandFailed, OSError) as bad:
        say(str(bad))
        sys.exit(1)


if __name__ == '__main__':
    main()
