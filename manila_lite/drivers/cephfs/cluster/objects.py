# SPDX-License-Identifier: Apache-2.0
"""Small objects in a pool of the cluster, which all hosts of a backend share: by the bindings, or else the program rados."""

import contextlib
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from manila_lite.drivers.cephfs.cluster import bindings
from manila_lite.drivers.cephfs.cluster.library import QUIET
from manila_lite.host.commands import ENV, CommandFailed

_MISSING, _DENIED = 'No such file or directory', 'Operation not permitted'
#: Objects are small; this is the most that is read of one.
_MOST = 64 << 20


class NotAllowed(CommandFailed):
    """The id may not use objects of the namespace."""


class Objects:
    """The objects of one namespace of a pool. Safe for threads.

    ``seconds``: how long one call waits for the cluster.
    """

    def __init__(
        self, ceph_conf: str, cluster: str, auth_id: str, pool: str, namespace: str, *, seconds: int = 10
    ):
        self.ceph_conf = ceph_conf
        self.cluster = cluster
        self.auth_id = auth_id
        self.pool = pool
        self.namespace = namespace
        self._seconds = seconds
        self._lock = threading.Lock()
        self._open: tuple[Any, Any] | None = None

    @property
    def words(self) -> list[str]:
        """The arguments with which another process makes the same."""
        return [self.ceph_conf, self.cluster, self.auth_id, self.pool, self.namespace]

    def get(self, name: str) -> bytes | None:
        """Return the content of an object, or None if there is none.

        :raises CommandFailed: the cluster refused, or did not answer in time.
        """
        if bindings.load('rados') is not None:
            found: bytes | None = self._ask(lambda context: bytes(context.read(name, _MOST)), f'get {name}')
            return found
        try:
            return self._run('get', name, '-')
        except CommandFailed as bad:
            if _MISSING in str(bad):
                return None
            raise

    def put(self, name: str, content: bytes) -> None:
        """Replace the content of an object, all at once.

        :raises CommandFailed: the cluster refused, or did not answer in time.
        """
        if bindings.load('rados') is not None:
            self._ask(lambda context: context.write_full(name, content), f'put {name}')
        else:
            self._run('put', name, '-', content=content)

    def delete(self, name: str) -> None:
        """Delete the object, if it is there."""
        if bindings.load('rados') is not None:
            self._ask(lambda context: context.remove_object(name), f'rm {name}')
            return
        try:
            self._run('rm', name)
        except CommandFailed as bad:
            if _MISSING not in str(bad):
                raise

    def close(self) -> None:
        with self._lock:
            self._drop()

    # By the bindings --------------------------------------------------------------------------

    def _ask(self, work: Callable[[Any], Any], what: str) -> Any:
        """Return the result of the work, or None if there is no such object."""
        rados: Any = bindings.load('rados')
        with self._lock:
            try:
                if self._open is None:
                    self._open = self._connect(rados)
                return work(self._open[1])
            except rados.ObjectNotFound as missing:
                if self._open is not None:
                    return None
                raise CommandFailed(f'the pool {self.pool} cannot be used: {missing}') from missing
            except (rados.Error, OSError) as bad:
                self._drop()
                kind = NotAllowed if isinstance(bad, rados.PermissionError) else CommandFailed
                raise kind(f'{what} in the pool {self.pool}: {bad}') from bad

    def _connect(self, rados: Any) -> tuple[Any, Any]:
        limits = dict.fromkeys(
            ('client_mount_timeout', 'rados_osd_op_timeout', 'rados_mon_op_timeout'), str(self._seconds)
        )
        connection = rados.Rados(
            name=f'client.{self.auth_id}',
            clustername=self.cluster,
            conffile=self.ceph_conf,
            conf=QUIET | limits,
        )
        try:
            connection.connect()
            context = connection.open_ioctx(self.pool)
            context.set_namespace(self.namespace)
        except BaseException:
            connection.shutdown()
            raise
        return connection, context

    def _drop(self) -> None:
        gone, self._open = self._open, None
        if gone is not None:
            with contextlib.suppress(Exception):
                gone[0].shutdown()

    # By the program ---------------------------------------------------------------------------

    def _run(self, *words: str, content: bytes = b'') -> bytes:
        command = (
            'rados',
            '--conf',
            self.ceph_conf,
            '--cluster',
            self.cluster,
            '--name',
            f'client.{self.auth_id}',
            '--pool',
            self.pool,
            '--namespace',
            self.namespace,
        )
        try:
            done = subprocess.run(
                (*command, *words),
                env=ENV,
                input=content,
                capture_output=True,
                timeout=self._seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as bad:
            raise CommandFailed(f'rados {words[0]} {words[1]}: {bad}') from bad
        if done.returncode:
            said = done.stderr.decode(errors='replace').strip()
            raise (NotAllowed if _DENIED in said else CommandFailed)(f'rados {words[0]} {words[1]}: {said}')
        return done.stdout
