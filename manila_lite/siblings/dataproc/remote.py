# SPDX-License-Identifier: Apache-2.0
"""Commands on a node, over one SSH connection. Only the pinned host key is accepted."""

import base64
import contextlib
import logging
import math
import re
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import paramiko
from cryptography.hazmat.primitives import serialization as keys
from cryptography.hazmat.primitives.asymmetric import ed25519

from manila_lite import errors
from manila_lite.siblings.dataproc.interface import Node, NodeAway, Remote, Result, TooLong

#: Exit status of timeout(1) after it ended the command.
_TOO_LONG = 124
#: Largest output of a command, in bytes. Ours print less.
_MOST = 4 << 20
_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
#: Seconds to wait for a node's answer after the time limit of a command.
_GRACE = 30.0
#: Messages of paramiko for a login that was not refused, but never answered.
_AWAY = re.compile('timeout|EOF')
#: paramiko's own log lines are dropped: its errors are raised, and the caller reports them once.
_QUIET = 'manila_lite.paramiko'
logging.getLogger(_QUIET).setLevel(logging.CRITICAL + 1)


def command_line(argv: Sequence[str], user: str, seconds: float) -> str:
    """Return the line for a POSIX shell that runs exactly these words as root, for at most so many seconds.

    :raises errors.Invalid: a word has a NUL, which no command can be given.
    """
    if any('\0' in word for word in argv):
        raise errors.Invalid('A NUL cannot be part of a command.')
    become = [] if user == 'root' else ['sudo', '-n', '--']
    return shlex.join([*become, 'env', 'LC_ALL=C', _PATH, 'timeout', str(math.ceil(seconds)), *argv])


class SshRemote(Remote):
    """A session on an open connection."""

    def __init__(self, node: Node, transport: paramiko.Transport, patience: float):
        self._node = node
        self._transport = transport
        self._patience = patience

    def run(self, argv: Sequence[str], data: bytes = b'', timeout: float | None = None) -> Result:
        seconds = timeout or self._patience
        line = command_line(argv, self._node.user, seconds)
        try:
            with contextlib.closing(self._transport.open_session(timeout=seconds + _GRACE)) as channel:
                channel.settimeout(seconds + _GRACE)
                channel.exec_command(line.encode(errors='surrogateescape'))
                channel.sendall(data)
                channel.shutdown_write()
                result = _end(channel, time.monotonic() + seconds + _GRACE)
        except (paramiko.SSHException, EOFError, OSError) as bad:
            raise NodeAway(f'{self._node.name}: {argv[0]}: {bad or type(bad).__name__}') from bad
        if result.status in (_TOO_LONG, -1):
            raise TooLong(f'{self._node.name}: {argv[0]} did not end within {seconds:g} s')
        return result


def _end(channel: paramiko.Channel, end: float) -> Result:
    """Return the result of a channel's command. ``end``: when we stop waiting for it."""
    said = []
    for receive in (channel.recv, channel.recv_stderr):
        kept = bytearray()
        while part := _next(channel, receive, end):
            kept += part
            if len(kept) > _MOST:
                raise OSError('its output is too long')
        said.append(bytes(kept))
    if not channel.status_event.wait(max(end - time.monotonic(), 0)):
        raise TimeoutError('no exit status')
    return Result(channel.exit_status, *said)


def _next(channel: paramiko.Channel, receive: Callable[[int], bytes], end: float) -> bytes:
    channel.settimeout(max(end - time.monotonic(), 0.1))
    return receive(1 << 16)


class _OnlyPinned(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]  # paramiko says no types
    """A policy that accepts no unknown host key."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> NoReturn:
        raise errors.Final(f'{hostname} has another host key than the one that is pinned.')


@contextlib.contextmanager
def connect(node: Node, conf: Any) -> Iterator[Remote]:
    """Yield a session on an open connection, with the options of ``conf.dataproc_nodes``.

    :raises NodeAway: the node does not answer now.
    :raises errors.Final: there is no pinned host key, the node has another, or it refuses our key.
    """
    options = conf.dataproc_nodes
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(contextlib.closing(paramiko.SSHClient()))
        client.set_log_channel(_QUIET)
        _pin(client, node)
        client.set_missing_host_key_policy(_OnlyPinned())
        key = _key(node.key_file or options.ssh_key_file or '')
        try:
            line = stack.enter_context(_line(node, options))
            client.connect(
                node.address,
                node.port,
                node.user,
                pkey=key,
                sock=line,
                allow_agent=False,
                look_for_keys=False,
                timeout=options.ssh_timeout,
                banner_timeout=options.ssh_timeout,
                auth_timeout=options.ssh_timeout,
                channel_timeout=options.ssh_timeout,
                transport_factory=_patient(options.ssh_timeout),
            )
        except paramiko.BadHostKeyException as bad:
            raise errors.Final(f'{node.name} has another host key than the one that is pinned.') from bad
        except paramiko.AuthenticationException as bad:
            if _AWAY.search(str(bad)):
                raise NodeAway(f'{node.name} does not answer: {bad}') from bad
            raise errors.Final(f'{node.name} refuses the login of {node.user}: {bad}') from bad
        except (paramiko.SSHException, EOFError, OSError) as bad:
            raise NodeAway(f'{node.name} does not answer: {bad or type(bad).__name__}') from bad
        transport = client.get_transport()
        if transport is None:
            raise NodeAway(f'{node.name} went away')
        transport.set_keepalive(15)
        yield SshRemote(node, transport, options.command_timeout)


def _patient(seconds: float) -> Callable[..., paramiko.Transport]:
    """Return a factory of transports with this time limit for the key exchange, which paramiko's ``connect`` has no
    argument for.
    """

    def made(*args: Any, **more: Any) -> paramiko.Transport:
        transport = paramiko.Transport(*args, **more)
        transport.handshake_timeout = seconds
        return transport

    return made


def _pin(client: paramiko.SSHClient, node: Node) -> None:
    """Accept only the pinned key of this node."""
    kind, _, encoded = node.host_key.strip().partition(' ')
    try:
        key = paramiko.PKey.from_type_string(kind, base64.b64decode(encoded.partition(' ')[0], validate=True))
    except (ValueError, IndexError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as bad:
        raise errors.Final(f'{node.name} has no host key that could be pinned.') from bad
    name = node.address if node.port == 22 else f'[{node.address}]:{node.port}'
    client.get_host_keys().add(name, key.get_name(), key)


def host_key() -> tuple[str, str]:
    """Return a new host key for a node: the private one, and the public one as it is pinned, both in the form of OpenSSH."""
    private = ed25519.Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes(keys.Encoding.OpenSSH, keys.PublicFormat.OpenSSH)
    return (
        private.private_bytes(keys.Encoding.PEM, keys.PrivateFormat.OpenSSH, keys.NoEncryption()).decode(),
        public.decode(),
    )


def public_key(path: str) -> str:
    """Return the public half of our key, in the form of ``authorized_keys``.

    :raises errors.Final: there is no usable key.
    """
    key = _key(path)
    return f'{key.get_name()} {key.get_base64()}'


def _key(path: str) -> paramiko.PKey:
    if not path:
        raise errors.Final('There is no key for the nodes: see [dataproc_nodes] ssh_key_file.')
    try:
        return paramiko.PKey.from_path(path)
    except (OSError, ValueError, TypeError, paramiko.SSHException) as bad:
        raise errors.Final(f'The key {path} cannot be used: {bad}') from bad


@contextlib.contextmanager
def _line(node: Node, options: Any) -> Iterator[socket.socket]:
    """Yield a stream to the node's SSH server: a socket, or that of the proxy command."""
    if not options.ssh_proxy_command:
        with socket.create_connection((node.address, node.port), options.ssh_timeout) as line:
            yield line
        return
    words = [
        word.replace('{host}', node.address).replace('{port}', str(node.port))
        for word in shlex.split(options.ssh_proxy_command)
    ]
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            proxy = subprocess.Popen(
                words, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
            )
        try:
            yield ours
        finally:
            proxy.kill()
            proxy.wait()
