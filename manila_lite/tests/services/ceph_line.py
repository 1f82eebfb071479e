# SPDX-License-Identifier: Apache-2.0
"""Commands to a cluster in the words of the program ``ceph``, by one connection.

Each process of that program takes a second of computing, most of it to start, and to learn which commands there are. This has
Ceph's bindings, and the parser of words of that program.
"""

import functools
import importlib.util
import itertools
import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from manila_lite.drivers.cephfs.cluster import bindings, deadline
from manila_lite.drivers.cephfs.cluster.answers import Answer
from manila_lite.tests import nfs_client

_OPTIONS = {
    'log_file': '',
    'log_to_stderr': 'false',
    'err_to_stderr': 'false',
    'admin_socket': '',
    'client_mount_timeout': '20',
    'mon_client_hunt_interval': '0.5',
}


class Silent(Exception):
    """There was no answer in time. The line must be closed: its next command connects anew."""


@functools.cache
def parser() -> ModuleType | None:
    """Return the parser of the program ``ceph``, or None if this Python cannot use it with the bindings."""
    if None in (bindings.load('rados'), bindings.load('cephfs')):
        return None
    for path in (place / 'ceph_argparse.py' for place in bindings.PLACES):
        spec = importlib.util.spec_from_file_location('ceph_argparse', path) if path.exists() else None
        if spec and spec.loader:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None


class Line:
    """A connection of the user whose file is ``conf``; with ``netns`` from that network namespace. Safe for threads."""

    def __init__(self, conf: Path, user: str, netns: str = ''):
        self._conf = conf
        self._user = user
        self._netns = netns
        self._lock = threading.Lock()
        self._rados: Any = None
        #: The commands of each kind of daemon, with the words that each begins with.
        self._commands: dict[str, list[tuple[list[str], Any]]] = {}

    def ask(self, words: Sequence[str], seconds: float) -> Answer:
        """Return the answer to a command.

        :raises Silent: there was none within these seconds.
        """
        try:
            return deadline.call(lambda: self._ask(list(words)), seconds)
        except (deadline.Hangs, RuntimeError, bindings.load('rados').Error) as bad:
            raise Silent(f'{" ".join(words)}: {bad}') from bad

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            rados, self._rados = self._rados, None
        if rados:
            rados.shutdown()

    def _ask(self, words: list[str]) -> Answer:
        # This is in a thread for this command alone: it enters the namespace with all threads of the library that it starts.
        if self._netns:
            nfs_client.enter(self._netns)
        target = parser().find_cmd_target(words)
        if words[0] == 'tell':
            words = words[2:]
        command = self._command(target, words) or self._command(target, words, anew=True)
        if not command:
            return Answer(22, said=f'no command of {target[0]} is like this: {" ".join(words)}')
        return self._send(target, argdict={**command, 'format': 'json'})

    def _command(
        self, target: tuple[str, str], words: Sequence[str], *, anew: bool = False
    ) -> Mapping[str, Any] | None:
        """Return the command as a daemon takes it; None if it has none of these words. ``anew``: a module may have come."""
        if anew or target[0] not in self._commands:
            told = self._send(target, prefix='get_command_descriptions')
            if told.number:
                raise RuntimeError(told.said)
            self._commands[target[0]] = [
                (_first(one['sig']), one) for one in json.loads(told.output).values()
            ]
        alike = {
            f'cmd{number}': one
            for number, (first, one) in enumerate(self._commands[target[0]])
            if first == words[: len(first)]
        }
        return (
            parser().validate_command(parser().parse_json_funcsigs(json.dumps(alike), 'cli'), words)
            if alike
            else None
        )

    def _send(self, target: tuple[str, str], **what: Any) -> Answer:
        number, output, said = parser().json_command(self._connected(), target=target, **what)
        return Answer(abs(number), output.decode(errors='replace'), said)

    def _connected(self) -> Any:
        with self._lock:
            if self._rados is None:
                rados = bindings.load('rados').Rados(
                    name=f'client.{self._user}', conffile=str(self._conf), conf=_OPTIONS
                )
                rados.connect()
                self._rados = rados
            return self._rados


def _first(signature: Sequence[Any]) -> list[str]:
    """Return the words that a command begins with."""
    return list(itertools.takewhile(lambda one: isinstance(one, str), signature))
