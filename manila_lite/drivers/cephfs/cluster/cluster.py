# SPDX-License-Identifier: Apache-2.0
"""A Ceph cluster as the driver uses it. A manager or metadata server that is just away is waited for."""

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from manila_lite.drivers.cephfs.cluster import bindings
from manila_lite.drivers.cephfs.cluster.answers import NOT_YET, Answer, Away, Refused
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.cluster.library import Library
from manila_lite.drivers.cephfs.cluster.program import Program
from manila_lite.host.commands import ENV

#: The ways to send commands to a cluster. Each call returns within about the seconds that it is given. After ``Away`` the way
#: must be made anew, since a call may still hang.
Way = Library | Program

#: Seconds between two tries of a command that the cluster cannot do yet.
_PAUSE, _PAUSE_MOST = 0.1, 1.0
#: Seconds for one try. A manager that is away makes a call hang, and a new one has to be asked anew.
_ONE_TRY = 20.0
#: Seconds for what is not needed.
_GLANCE = 5.0


def find_way(identity: Identity) -> Way | None:
    """Return the best way to the cluster that this machine has, or None."""
    rados, cephfs = bindings.load('rados'), bindings.load('cephfs')
    if rados and cephfs:
        return Library(rados, cephfs, identity)
    return Program(identity) if shutil.which('ceph', path=ENV['PATH']) else None


class Cluster:
    """The cluster of a backend. Safe for threads.

    ``patience`` returns the seconds that one call may take; ``way`` makes the way to the cluster, also after a call hung.
    """

    def __init__(self, patience: Callable[[], float], way: Callable[[], Way | None]):
        self._patience = patience
        self._make = way
        self._lock = threading.Lock()
        self._way: Way | None = None

    def manager(self, prefix: str, file: bytes = b'', /, **arguments: Any) -> Any:
        """Have the active manager do a command. Returns its output, read as JSON if it is.

        ``file``: the content of the file that the command takes, if it takes one.

        :raises Refused: it says no. :raises Away: it does not answer in time; the command may be done all the same.
        """
        return self._do(
            prefix, lambda way, seconds: way.manager(_command(prefix, arguments), seconds, file)
        ).content

    def monitor(self, prefix: str, **arguments: Any) -> Any:
        """Have a monitor do a command, as ``manager`` does."""
        return self._do(
            prefix, lambda way, seconds: way.monitor(_command(prefix, arguments), seconds)
        ).content

    def metadata_server(self, rank: str, prefix: str, **arguments: Any) -> str:
        """Have the metadata server with a rank, as ``filesystem:0``, do a command, as ``manager`` does. Returns its output as
        it came: it may hold words of clients.
        """
        return self._do(
            prefix, lambda way, seconds: way.metadata_server(rank, _command(prefix, arguments), seconds)
        ).output

    def directory_size(self, filesystem: str, path: str) -> int | None:
        """Return the bytes in a directory and below, if that can be seen at this moment: it is for information only."""
        try:
            return self._current().directory_size(filesystem, path, _GLANCE)
        except (Away, Refused):
            return None

    def usage_of(self, filesystem: str, paths: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """Return the bytes and the files in each of these directories and below, by path, as far as they can be seen.

        :raises Away: the cluster does not answer. :raises Refused: it does not let the service look.
        """
        return self._current().usage_of(filesystem, paths, self._patience())

    def close(self) -> None:
        with self._lock:
            way, self._way = self._way, None
        if way:
            way.close()

    def _do(self, prefix: str, send: Callable[[Way, float], Answer]) -> Answer:
        patience = self._patience()
        end = time.monotonic() + patience
        pause, why = _PAUSE, ''
        while (left := end - time.monotonic()) > 0:
            way = self._current()
            try:
                answer = send(way, min(left, _ONE_TRY))
            except Away as away:
                why = str(away)
                self._drop(way)
            else:
                if answer.number == 0:
                    return answer
                if answer.number not in NOT_YET:
                    raise Refused(prefix, answer.number, answer.said)
                why = f'"{prefix}" is not possible now: {answer.said or answer.number}'
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(pause * 2, _PAUSE_MOST)
        raise Away(
            f'The Ceph cluster did not do "{prefix}" within {patience:g} s. Look at "ceph status": the manager, its '
            f'module "volumes" and a metadata server must be active. Last answer: {why}'
        )

    def _current(self) -> Way:
        with self._lock:
            if self._way is None:
                self._way = self._make()
            if self._way is None:
                raise Away(
                    'Neither the Python bindings of Ceph nor the program ceph are installed: apt-get install '
                    'python3-rados python3-cephfs ceph-common'
                )
            return self._way

    def _drop(self, way: Way) -> None:
        with self._lock:
            if self._way is way:
                self._way = None
        way.close()


def _command(prefix: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in arguments.items() if value is not None}
    return {'prefix': prefix, 'format': 'json', **given}
