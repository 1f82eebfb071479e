# SPDX-License-Identifier: Apache-2.0
"""A small process beside NFS-Ganesha: it holds the addresses of the NFS server as long as the server may run on this host.

``python -m manila_lite.drivers.cephfs.nfs.keeper FILE`` reads its task from the file. An object in the cluster names the
host that may serve. When it names another, this process removes the addresses, kills NFS-Ganesha, and leaves a note that
keeps it from being started here. So the old host lets go even if its share manager died, hangs, or lost the database.
While the cluster does not answer, the addresses are removed and NFS-Ganesha is left alone.
"""

import contextlib
import dataclasses
import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from manila_lite.drivers.cephfs.cluster.objects import Objects
from manila_lite.drivers.cephfs.nfs import addresses
from manila_lite.drivers.file_servers import fencing
from manila_lite.host.clock import boottime
from manila_lite.host.commands import CommandFailed
from manila_lite.host.daemon import Daemon

#: Objects: the host that may serve, and the host that has let go.
HOLDER, FREED = 'holder', 'freed'
#: File that is there while the addresses are.
KEPT = 'kept'
#: Seconds between looks at the object, for one look, and without an answer until the addresses are removed.
EVERY, _LOOK, _PATIENCE = 1.0, 2, 4.0
_ELSEWHERE = 'the NFS server runs on another host'


@dataclasses.dataclass(frozen=True)
class KeeperTask:
    """The task of a keeper: to hold addresses on an interface, for the server in the folder ``home``, as the host ``token``."""

    home: str
    token: str
    interface: str
    addresses: list[str]
    objects: Objects

    @property
    def start_key(self) -> str:
        """Return a text that differs for every other task."""
        return json.dumps([self.home, self.token, self.interface, self.addresses, self.objects.words])

    def write(self, file: Path) -> None:
        file.write_text(self.start_key)

    @classmethod
    def read(cls, file: Path) -> 'KeeperTask':
        home, token, interface, wanted, words = json.loads(file.read_text())
        return cls(home, token, interface, wanted, Objects(*words, seconds=_LOOK))


class Keeper:
    """The keeper of one NFS server."""

    def __init__(self, task: KeeperTask, clock: Callable[[], float] = boottime):
        self._task = task
        self._clock = clock
        self._kept = Path(task.home, KEPT)
        self._answered = clock()
        self._ended = threading.Event()

    def run(self) -> None:
        """Hold the addresses until another host may serve, or ``end``."""
        while not self._ended.is_set() and self.check():
            self._ended.wait(EVERY)
        self._leave()

    def end(self) -> None:
        """End soon, without the addresses. NFS-Ganesha is left alone."""
        self._ended.set()

    def check(self) -> bool:
        """Take the addresses, or remove them, whichever is right now. Returns whether this host may serve."""
        try:
            holder = self._task.objects.get(HOLDER)
        except CommandFailed as bad:
            if self._clock() - self._answered > _PATIENCE and self._kept.exists():
                _say(f'the cluster does not answer, so the addresses are removed: {bad}')
                self._leave()
            return True
        self._answered = self._clock()
        if holder is not None and holder.decode(errors='replace') != self._task.token:
            self._let_go()
            return False
        self._take()
        return True

    def _take(self) -> None:
        try:
            if lacked := addresses.take(self._task.interface, self._task.addresses):
                _say(f'{", ".join(lacked)} added to {self._task.interface}')
            self._kept.touch()
        except (CommandFailed, OSError) as bad:
            _say(f'the addresses cannot be added to {self._task.interface}: {bad}')

    def _leave(self) -> None:
        self._kept.unlink(missing_ok=True)
        try:
            addresses.leave(self._task.interface, self._task.addresses)
        except CommandFailed as bad:
            _say(f'an address cannot be removed from {self._task.interface}: {bad}')

    def _let_go(self) -> None:
        _say(_ELSEWHERE)
        home = Path(self._task.home)
        self._leave()
        with fencing.exclusive(home):
            fencing.note(home, _ELSEWHERE)
            if server := Daemon(home / 'ganesha.json').process():
                server.kill()
        with contextlib.suppress(CommandFailed):  # the other host does not wait for ever
            self._task.objects.put(FREED, self._task.token.encode())


def _say(words: str) -> None:
    sys.stderr.write(f'{time.strftime("%Y-%m-%d %H:%M:%S")} {words}\n')
    sys.stderr.flush()


def main() -> None:
    """Keep until told to end."""
    keeper = Keeper(KeeperTask.read(Path(sys.argv[1])))
    for signo in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signo, lambda *_: keeper.end())
    keeper.run()


if __name__ == '__main__':
    main()
