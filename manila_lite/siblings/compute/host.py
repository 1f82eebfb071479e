# SPDX-License-Identifier: Apache-2.0
"""The resources that the plans of one compute host use: its driver, its grants, and the mounts that are still needed."""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from oslo_log import log
from oslo_utils import netutils

from manila_lite.siblings.compute.db import models, store
from manila_lite.siblings.compute.drivers.interface import InstanceDriver, MountedShare, Nic, Server
from manila_lite.siblings.compute.states import ON
from manila_lite.siblings.grants import Grants

LOG = log.getLogger(__name__)

SERVICE = 'mlite-compute'


class _Locks:
    """A lock for each name that a thread holds or waits for."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        with self._guard:
            lock = self._known.setdefault(name, threading.RLock())
        with lock:
            yield


class Host:
    """A compute host, as its agent sees it. ``services`` are those of ``process.Sibling.services``."""

    def __init__(self, services: Any, driver: InstanceDriver):
        self.services = services
        self.conf = services.conf
        self.driver = driver
        self.name = services.conf.host
        self.address = services.conf.compute.my_shared_fs_storage_ip or netutils.get_my_ipv4()
        self.grants = Grants(
            services.db,
            models.share_grants,
            services.shares,
            service=SERVICE,
            users=store.levels_of_grant,
            holder=store.holder_of_grant,
        )
        #: Locks of servers (by id) and of mounts (by key); a server's lock is taken first.
        self.locked = _Locks()

    def mount(self, share: MountedShare) -> None:
        """Mount the share's export on the host."""
        with self.locked(self.driver.mount_key(share)):
            self.driver.share_mount(share)

    def unmount(self, share: MountedShare, server_id: str) -> None:
        """Unmount the share's export, unless another server of the host needs it."""
        key = self.driver.mount_key(share)
        with self.locked(key):
            if key not in self.needed(but=server_id):
                self.driver.share_umount(share)

    def needed(self, but: str | None = None) -> set[str]:
        """Return the keys of the mounts that servers of this host need, now or soon. ``but``: a server that is left out."""
        with self.services.db.reader() as conn:
            rows = [row for row in store.attachments_of_host(conn, self.name) if row.server_id != but]
        # In these statuses only the driver knows whether the guest runs.
        running = (
            self.driver.list_running() if any(row.server_status in _OPEN for row in rows) else frozenset()
        )
        return {
            self.driver.mount_key(share_of(row))
            for row in rows
            if row.server_status in ON or (row.server_status in _OPEN and row.server_id in running)
        }


_OPEN = frozenset({'error', 'deleting'})


def server_of(row: Any) -> Server:
    """Return a server as drivers know it."""
    nics = tuple(Nic(**nic) for nic in row.spec.get('nics', ()))
    return Server(row.id, row.project_id, row.name, **{**row.spec, 'nics': nics})


def share_of(row: Any) -> MountedShare:
    """Return an attached share as drivers know it."""
    return MountedShare(row.share_id, row.tag, row.export_location, row.share_proto)
