# SPDX-License-Identifier: Apache-2.0
"""The NFS gateway of one backend: NFS-Ganesha on this host, with the addresses that follow the lease of the backend."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from oslo_log import log
from oslo_utils import uuidutils

import manila_lite
from manila_lite import errors
from manila_lite.drivers.cephfs.cluster.objects import Objects
from manila_lite.drivers.cephfs.nfs import keeper
from manila_lite.drivers.cephfs.nfs.fsal import CephFsal, Key, Records, key_in
from manila_lite.drivers.cephfs.nfs.mirror import ObjectMirror
from manila_lite.drivers.cephfs.nfs.options import NfsOptions, addresses
from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.file_servers.connection_guard import ConnectionGuard
from manila_lite.drivers.file_servers.ganesha import Ganesha
from manila_lite.drivers.file_servers.ganesha_exports import SERVED
from manila_lite.host.commands import CommandFailed
from manila_lite.host.daemon import Daemon
from manila_lite.host.waits import until

LOG = log.getLogger(__name__)

#: Seconds that the former host gets to let go. One that cannot is shut out by the cluster all the same.
_LET_GO = 3.0
#: Seconds until NFS-Ganesha answers: it opens a session with the cluster for each export first.
_FIRST_ANSWER = 120.0
#: Seconds until the addresses are there.
_READY = 20.0
#: Where the keeper finds this package.
_ROOT = str(Path(manila_lite.__file__).parents[1])
_RESTARTED = 'The NFS server did not run; it was restarted.'
_KEPT_AGAIN = 'The addresses of the NFS server were not kept here; they are again.'


class Gateway:
    """The gateway of one backend, in the folder ``state``. Safe for threads, if no two change the same share at once.

    ``node`` and ``evict_host``: see ``CephFsal``. ``objects`` are those that all hosts of the backend share; None if it has one
    host only.
    """

    def __init__(
        self,
        state_dir: Path,
        conf: NfsOptions,
        *,
        ceph_conf: str,
        filesystem: str,
        node: str,
        key_of: Callable[[str], Key],
        objects: Objects | None,
        evict_host: Callable[[str], None],
    ):
        self._state_dir = state_dir
        self._conf = conf
        self._objects = objects
        records = Records(objects.pool, objects.namespace, objects.auth_id) if objects else None
        guard = ConnectionGuard(state_dir, conf.cephfs_nfs_connections_per_address)
        self.server = Ganesha(
            state_dir,
            conf.cephfs_nfs_port,
            CephFsal(state_dir, ceph_conf, filesystem, node, key_of, guard, evict_host, records),
            netns=conf.cephfs_nfs_netns,
            graceless=conf.cephfs_nfs_graceless,
            grace=conf.cephfs_nfs_grace_period,
            mirror=ObjectMirror(objects) if objects else None,
            most=conf.cephfs_nfs_max_exports,
            patience=_FIRST_ANSWER,
        )
        self._keeper = Daemon(state_dir / 'keeper.pid')
        self._former: bytes | None = None
        self._keeping = threading.Lock()

    # Life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Run the server on this host with the exports of an earlier run, wherever that was, and take its addresses.

        :raises CommandFailed: it does not come up.
        """
        self._state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._state_dir.chmod(0o700)
        end = self._claim()
        self.server.start(lambda: None)
        self._await_former(end)
        self._keep()

    def ensure(self) -> tuple[str, ...]:
        """Make the server and its addresses be here. Returns the repairs in words.

        :raises CommandFailed: the server does not come up, or runs on another host.
        """
        repairs = []
        if not self.server.fits:
            self.server.start(lambda: None, even_if_stopped=False)
            repairs.append(_RESTARTED)
        elif self.server.restart_if_dead():
            repairs.append(_RESTARTED)
        if self._keep():
            repairs.append(_KEPT_AGAIN)
        return tuple(repairs)

    @property
    def defects(self) -> tuple[str, ...]:
        """Return in words the repairs that ``ensure`` would make."""
        well = self.server.fits and not self.server.missed
        return (*(() if well else (_RESTARTED,)), *(() if self._is_kept() else (_KEPT_AGAIN,)))

    def stop(self) -> None:
        """Remove the addresses and stop the server."""
        self._keeper.stop()
        self.server.stop()

    def retire(self) -> None:
        """Stop, and forget the exports, if the server was started on this host and not retired since."""
        if not (self._state_dir / SERVED).exists():
            return
        self.stop()
        exports = self.server.exports
        exports.load()
        for name in exports.served():
            exports.discard(name)
        for path in ('held', 'drafts', SERVED):
            shutil.rmtree(self._state_dir / path)

    @property
    def _token(self) -> str:
        """Return the name of this host among those of the backend."""
        file = self._state_dir / 'host.id'
        if not file.exists():
            draft = file.with_suffix('.new')
            draft.write_text(uuidutils.generate_uuid(dashed=False))
            os.replace(draft, file)
        return file.read_text()

    def _claim(self) -> float:
        """Say in the cluster that this host serves. Returns the time until which the former host may need to let go."""
        if self._objects is None:
            return 0.0
        try:
            former = self._objects.get(keeper.HOLDER)
        except CommandFailed as bad:
            needs = f"client.{self._objects.auth_id} needs osd 'allow rw pool={self._objects.pool}'"
            raise CommandFailed(
                f'ganesha_rados_store_pool_name: {bad}; the pool must exist, and {needs}'
            ) from bad
        if former is not None and former.decode(errors='replace') == self._token:
            fencing.drop(self._state_dir)
            return 0.0
        self._objects.put(keeper.FREED, b'')
        self._objects.put(keeper.HOLDER, self._token.encode())
        fencing.drop(self._state_dir)
        if former is None:
            return 0.0
        LOG.warning('The NFS server of %s moves to this host', self._objects.namespace)
        self._former = former
        return time.monotonic() + _LET_GO

    def _await_former(self, end: float) -> None:
        if objects := self._objects:
            until(lambda: objects.get(keeper.FREED) == self._former, end - time.monotonic(), 0.1)

    # Addresses --------------------------------------------------------------------------------

    @property
    def _task(self) -> keeper.KeeperTask | None:
        if self._objects is None or not self._conf.cephfs_nfs_interface:
            return None
        return keeper.KeeperTask(
            str(self._state_dir),
            self._token,
            self._conf.cephfs_nfs_interface,
            addresses(self._conf),
            self._objects,
        )

    def _is_kept(self) -> bool:
        task = self._task
        return task is None or (self._keeper.runs and self._keeper.start_key == task.start_key)

    def _keep(self) -> bool:
        """Run a keeper with the present task. Returns whether none ran."""
        with self._keeping:
            task = self._task
            if task is None or self._is_kept():
                return False
            self._start_keeper(task)
            return True

    def _start_keeper(self, task: keeper.KeeperTask) -> None:
        file, kept = self._state_dir / 'keeper.json', self._state_dir / keeper.KEPT
        self._keeper.stop()
        kept.unlink(missing_ok=True)
        task.write(file)
        words = self.server.inside([sys.executable, '-m', keeper.__name__, str(file)])
        self._keeper.start(
            words, self._state_dir / 'keeper.log', start_key=task.start_key, env={'PYTHONPATH': _ROOT}
        )
        until(lambda: kept.exists() or not self._keeper.runs, _READY)
        if not kept.exists():
            raise CommandFailed(
                f'{", ".join(task.addresses)} cannot be added to {task.interface}: see {self._state_dir}/keeper.log'
            )

    # Exports ----------------------------------------------------------------------------------

    def admit(self, name: str) -> None:
        """Check that the server can have this export.

        :raises errors.Final: it cannot; the message says what to do.
        """
        try:
            self.server.exports.vet_room(name)
        except errors.Final as full:
            raise errors.Final(
                f'{full} Delete shares, raise cephfs_nfs_max_exports if the host has memory to spare, or add a '
                'backend on another host.'
            ) from full

    def defects_of(
        self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None
    ) -> list[str]:
        """Return in words the repairs that ``serve`` would make.

        :raises CommandFailed: the server does not answer.
        """
        exports = self.server.exports
        return exports.defects(name, path, clients, exports.inspect([name])[name], mounted_as)

    def keys(self) -> dict[str, Key]:
        """Return the keys of all exports as they were last served."""
        exports = self.server.exports
        found = {name: key_in(exports.fsals.get(name, '')) for name in exports.served()}
        return {name: key for name, key in found.items() if key}
