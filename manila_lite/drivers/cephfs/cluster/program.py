# SPDX-License-Identifier: Apache-2.0
"""The way to a cluster by the program ``ceph``, one process for each command: slower, but it needs no bindings."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite.drivers.cephfs.cluster.answers import Answer, Away
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.host.commands import ENV

#: How the program reports a refusal, beside its exit status.
_REFUSAL = re.compile(r'^Error E[A-Z0-9]+: ?', re.MULTILINE)


class Program:
    """Commands by the program ``ceph``."""

    def __init__(self, identity: Identity):
        self._identity = identity

    def manager(self, command: Mapping[str, Any], seconds: float, content: bytes = b'') -> Answer:
        """Send a command to the active manager, with the content of a file if it takes one."""
        # By standard input: the content may hold what no file shall.
        return self._run([*(('-i', '-') if content else ()), *words(command)], seconds, content.decode())

    def monitor(self, command: Mapping[str, Any], seconds: float) -> Answer:
        return self._run(words(command), seconds)

    def metadata_server(self, rank: str, command: Mapping[str, Any], seconds: float) -> Answer:
        """Send a command to the metadata server with the rank."""
        return self._run(['tell', f'mds.{rank}', *words(command)], seconds)

    def directory_size(self, filesystem: str, path: str, seconds: float) -> int | None:
        """Return None: the program has no look into a file system."""

    def usage_of(
        self, filesystem: str, paths: Sequence[str], seconds: float
    ) -> Mapping[str, tuple[int, int]]:
        """Return nothing, as ``directory_size``."""
        return {}

    def close(self) -> None:
        """Do nothing: each command has a connection of its own."""

    def _run(self, asked: list[str], seconds: float, content: str = '') -> Answer:
        mine = self._identity
        line = [
            'ceph',
            '--conf',
            str(mine.conf_path),
            '--cluster',
            mine.cluster,
            '--name',
            mine.entity,
            '--connect-timeout',
            str(max(1, int(seconds))),
            '--format',
            'json',
            *asked,
        ]
        try:
            # A key is among the answers, so they are kept out of exceptions and logs.
            done = subprocess.run(
                line,
                env={**ENV, 'CEPH_ARGS': ''},
                input=content,
                capture_output=True,
                text=True,
                errors='replace',
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Away(f'The Ceph cluster does not answer: no answer within {seconds:g} s') from None
        except OSError as bad:
            raise Away(f'The program ceph cannot be started: {bad}') from bad
        said = _REFUSAL.split(done.stderr.strip())[-1]
        if done.returncode and 'RADOS timed out' in done.stderr:
            raise Away('The Ceph cluster does not answer: the connection timed out')
        return Answer(done.returncode, done.stdout, said)


def words(command: Mapping[str, Any]) -> list[str]:
    """Return a command as words of the program. Values are named, so that none is taken for an option."""
    named = [
        _word(name, value) for name, value in command.items() if name not in ('prefix', 'format', 'filters')
    ]
    return [*command['prefix'].split(), *filter(None, named), *command.get('filters', ())]


def _word(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f'--{name}' if value else ''
    return f'--{name}={value}'
