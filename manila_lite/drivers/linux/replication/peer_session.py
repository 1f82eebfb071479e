# SPDX-License-Identifier: Apache-2.0
"""Connections to other linux backends, from which this backend receives shares and share servers.

The other end is ``peer.py``, started for the purpose: on the same machine, or through ssh on another one. The share
manager there need not run.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

from manila_lite import errors
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.host.commands import ENV, CommandFailed

#: Seconds after which a peer is given up that says nothing: its storage may hang while ssh still answers.
SILENCE = 600.0
#: The same for requests that take no time, and that a promotion waits for.
_PATIENCE = {'freeze': 60.0, 'clear': 60.0}
_SECONDS = 30.0
_PROGRAM = 'manila_lite.drivers.linux.peer'
#: ssh accepts only the configured keys, asks no questions, and gives up a silent connection.
_SSH = (
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    'GlobalKnownHostsFile=/dev/null',
    'IdentitiesOnly=yes',
    'PasswordAuthentication=no',
    'KbdInteractiveAuthentication=no',
    'ForwardAgent=no',
    'ClearAllForwardings=yes',
    'Compression=no',
    'ConnectTimeout=10',
    'ServerAliveInterval=10',
    'ServerAliveCountMax=3',
    'LogLevel=ERROR',
)


class Unknown(errors.Final):
    """Nobody said how to reach that backend."""


def command(host: str, conf: LinuxOptions) -> list[str]:
    """Return the command that starts a peer of the backend ``host`` (``host@backend``).

    :raises Unknown: ``linux_peers`` has no usable entry for the backend.
    """
    place = conf.linux_peers.get(host)
    backend = host.partition('@')[2]
    if place is None:
        raise Unknown(f'linux_peers has no entry for {host}.')
    if place.startswith('/'):
        kind = '--config-dir' if Path(place).is_dir() else '--config-file'
        return [sys.executable, '-m', _PROGRAM, kind, place, backend]
    url = urllib.parse.urlsplit(place)
    if url.scheme != 'ssh' or not url.hostname:
        raise Unknown(
            f'linux_peers: {place} is neither the path of a configuration nor ssh://user@address:port.'
        )
    options = (
        *_SSH,
        f'UserKnownHostsFile="{conf.linux_peer_known_hosts}"',
        f'IdentityFile="{conf.linux_peer_identity}"',
    )
    return [
        'ssh',
        '-F',
        'none',
        '-T',
        *(word for option in options for word in ('-o', option)),
        '-p',
        str(url.port or 22),
        '-l',
        url.username or 'root',
        '--',
        url.hostname,
        backend,
    ]


class PeerSession:
    """A session with one peer: requests and answers, and at the end perhaps a stream. For one thread.

    Only ``kill`` may be called from another thread.
    """

    def __init__(self, command: Sequence[str]):
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            command, bufsize=0, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._out, self._in = self._process.stdin, self._process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process that is the other end, or leads to it."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends when its storage answers again
            self._process.wait(_SECONDS)
        for end in (self._out, self._in, self._stderr):
            end.close()

    def kill(self) -> None:
        """Kill the process, so that the other end gets no more requests, and ends."""
        self._process.kill()

    def _request(self, verb: str, about: dict[str, object]) -> float:
        """Send the request. Return the time by which the answer has to be there."""
        until = time.monotonic() + _PATIENCE.get(verb, SILENCE)
        words = json.dumps({'verb': verb, **about}).encode() + b'\n'
        try:
            for start in range(0, len(words), select.PIPE_BUF):
                self._wait(self._out, select.POLLOUT, until)
                self._out.write(words[start : start + select.PIPE_BUF])
        except OSError:
            raise self._broken() from None
        return until

    def _line(self, until: float) -> bytes:
        """Return the next line of the peer, or its part if the peer ends."""
        line = b''
        while not line.endswith(b'\n'):
            self._wait(self._in, select.POLLIN, until)
            if not (piece := os.read(self._in.fileno(), select.PIPE_BUF)):
                break
            line += piece
        return line

    def _wait(self, end: IO[bytes], event: int, until: float) -> None:
        """Wait until an end of the pipes can be used.

        :raises CommandFailed: it cannot until then; the peer is killed.
        """
        waiting = select.poll()
        waiting.register(end, event)
        if not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
            self.kill()
            raise CommandFailed('the peer does not answer')

    def ask(self, verb: str, **about: object) -> dict[str, Any]:
        """Return the peer's answer.

        :raises errors.Final: the peer refused the request.
        :raises CommandFailed: the request failed, there is no peer, or it does not answer in time.
        """
        until = self._request(verb, about)
        try:
            answer: dict[str, Any] = json.loads(self._line(until))
        except ValueError:
            raise self._broken() from None
        if 'refused' in answer:
            raise errors.Final(answer['refused'])
        if 'failed' in answer:
            raise CommandFailed(answer['failed'])
        return answer

    def send(self, **about: object) -> int:
        """Make the peer send subvolumes. Returns the descriptor to read them from; no other request can follow."""
        self._request('send', about)
        return self._in.fileno()

    def check_ended(self) -> None:
        """Check that the peer has ended well.

        :raises CommandFailed: it has not.
        """
        self._out.close()
        try:
            status = self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            raise CommandFailed('the peer does not end') from None
        if status:
            raise self._broken()

    def _broken(self) -> CommandFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS)
        self._stderr.seek(0)
        text = self._stderr.read()[-1000:].decode(errors='replace').strip()
        return CommandFailed(f'the peer ended with {self._process.returncode}: {text}')
