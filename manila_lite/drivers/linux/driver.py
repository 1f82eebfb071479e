# SPDX-License-Identifier: Apache-2.0
"""The driver: shares on a pool, each mounted on its own and exported by one NFS server."""

import collections
import contextlib
import re
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from manila_lite import errors, kinds
from manila_lite.drivers.interface import Backend, Clones, Resizes, Reverts, ShareDriver, Snapshots
from manila_lite.drivers.linux import btrfs, check, clients, mounts, pool
from manila_lite.drivers.linux.ganesha import Ganesha
from manila_lite.drivers.linux.options import OPTIONS

_VERSION = '1.0'
_POOL = 'pool'
#: Ids become file names and words of NFS-Ganesha's configuration.
_SAFE_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}')


class LinuxDriver(ShareDriver, Resizes, Snapshots, Clones, Reverts):
    """NFS shares of this machine. What it does is in the modules beside it; here is the order of things."""

    OPTIONS = OPTIONS

    def __init__(self, backend: Backend):
        super().__init__(backend)
        conf = backend.conf
        self._state = backend.state_dir
        self._pool = pool.choose(Path(conf.linux_pool_path), conf.linux_pool_type, self._state, conf.linux_pool_size_gb)
        self._nfs = Ganesha(self._state, conf.linux_nfs_port, netns=conf.linux_netns, graceless=conf.linux_graceless)
        self._locks: dict[str, threading.Lock] = collections.defaultdict(threading.Lock)
        self._guard = threading.Lock()

    @classmethod
    def check(cls, backend: Backend) -> Sequence[kinds.Problem]:
        """Say what this machine lacks, with the package that has it."""
        source = Path(backend.conf.linux_pool_path)
        is_directory = backend.conf.linux_pool_type == 'directory' or (
            backend.conf.linux_pool_type == 'auto' and source.is_dir())
        return list(check.problems(backend, needs_btrfs=not is_directory))

    # Life -------------------------------------------------------------------------------------

    def setup(self) -> None:
        """The pool is mounted, shares of an earlier run are mounted, and the NFS server runs."""
        self._state.mkdir(parents=True, exist_ok=True)
        self._pool.open()
        self._nfs.prepare()
        if not self._nfs.running:
            for name in self._nfs.known():
                self._remount(name)
        self._nfs.start()

    def _remount(self, ident: str) -> None:
        """What was exported before is mounted before the server starts, or it would export an empty directory."""
        if isinstance(self._pool, pool.Btrfs):
            self._pool.recover(ident)
        if self._pool.share(ident).exists():
            mounts.bind(self._pool.share(ident), self._mount_point(ident))
        else:
            (self._state / 'exports.d' / f'{ident}.conf').unlink(missing_ok=True)

    def teardown(self, *, remove_data: bool = False) -> None:
        """Nothing of this backend runs or is mounted; with ``remove_data`` nothing of it is left."""
        self._nfs.stop()
        for place in sorted((self._state / 'exports').glob('*')):
            mounts.unmount(place)
        self._pool.close(remove_data=remove_data)
        if remove_data:
            shutil.rmtree(self._state, ignore_errors=True)

    def report(self) -> Sequence[kinds.Pool]:
        """Return the one pool. It is thin: a share takes the space that it fills."""
        total, free = self._pool.capacity()
        families = {':' in str(address) for address in self.backend.conf.linux_export_ips}
        able = self._pool.CAPABLE
        return [kinds.Pool(
            name=_POOL, total_gb=round(total, 2), free_gb=round(free, 2),
            reserved_percentage=self.backend.conf.reserved_share_percentage, thin_provisioning=True,
            max_over_subscription_ratio=self.backend.conf.max_over_subscription_ratio,
            capabilities={
                'vendor_name': 'manila_lite', 'driver_version': _VERSION, 'storage_protocol': 'NFS',
                'snapshot_support': able, 'create_share_from_snapshot_support': able, 'revert_to_snapshot_support': able,
                'mount_snapshot_support': False, 'size_limit_support': able, 'ipv4_support': False in families,
                'ipv6_support': True in families, 'qos': False, 'dedupe': False, 'compression': False})]

    # Shares -----------------------------------------------------------------------------------

    def create_share(self, share: kinds.Share) -> Sequence[kinds.ExportLocation]:
        """An empty share exists, mounted and exported to nobody."""
        self._vet(share)
        self._pool.create(share.id, share.size)
        return self._serve(share, '')

    def create_share_from_snapshot(self, share: kinds.Share, snapshot: kinds.Snapshot) -> Sequence[kinds.ExportLocation]:
        """A share with the snapshot's content exists; nothing is copied."""
        self._vet(share)
        self._btrfs.clone(share.id, snapshot.id, share.size)
        return self._serve(share, '')

    def _serve(self, share: kinds.Share, blocks: str) -> list[kinds.ExportLocation]:
        with self._alone(share.id):
            mounts.bind(self._pool.share(share.id), self._mount_point(share.id))
            self._nfs.export(share.id, self._mount_point(share.id), blocks)
        return self._locations(share.id)

    def delete_share(self, share: kinds.Share) -> None:
        """The export, the mount and the data are gone; a busy mount goes when its last user ends."""
        _vet_id(share.id)
        with self._alone(share.id):
            self._nfs.withdraw(share.id, forget=True)
            place = self._mount_point(share.id)
            mounts.unmount(place)
            if place.exists():
                place.rmdir()
            self._pool.delete(share.id)
        with self._guard:
            self._locks.pop(share.id, None)

    def extend_share(self, share: kinds.Share, new_size: int) -> None:
        """The limit is higher at once, also for clients that have the share mounted."""
        self._present(share)
        self._btrfs.resize(share.id, new_size)

    def shrink_share(self, share: kinds.Share, new_size: int) -> None:
        """The limit is lower. The kernel would take one below what is used, so that is refused here."""
        self._present(share)
        used = self._btrfs.used(share.id)
        if used > new_size * btrfs.GIB:
            raise errors.RefusedShrink(f'The share holds {used / btrfs.GIB:.2f} GiB, more than the {new_size} GiB asked for.')
        self._btrfs.resize(share.id, new_size)

    # Access -----------------------------------------------------------------------------------

    def update_access(self, share: kinds.Share, rules: Sequence[kinds.AccessRule]) -> Mapping[str, kinds.RuleResult]:
        """Exactly these rules are in force, also for open sessions."""
        _vet_id(share.id)
        if not rules and not self._pool.share(share.id).exists():
            return {}
        self._present(share)
        blocks, results = clients.blocks(rules)
        self._serve(share, blocks)
        return results

    def ensure_shares(self, targets: Sequence[kinds.EnsureTarget]) -> Mapping[str, kinds.EnsureResult]:
        """Each share is mounted and exported with its rules; one whose data is gone is reported."""
        return {target.share.id: self._ensure(target) for target in targets}

    def _ensure(self, target: kinds.EnsureTarget) -> kinds.EnsureResult:
        ident = target.share.id
        if not _SAFE_ID.fullmatch(ident):
            return kinds.EnsureResult(error=f'{ident!r} is no id of a share')
        if isinstance(self._pool, pool.Btrfs):
            with self._alone(ident):
                if not self._pool.share(ident).exists():
                    self._pool.recover(ident)
        if not self._pool.share(ident).exists():
            return kinds.EnsureResult(error='its data is not in the pool')
        results = self.update_access(target.share, target.rules)
        return kinds.EnsureResult(export_locations=tuple(self._locations(ident)), rules=results)

    # Snapshots --------------------------------------------------------------------------------

    def create_snapshot(self, snapshot: kinds.Snapshot) -> str | None:
        """A read-only copy exists; it takes no time and no space."""
        _vet_id(snapshot.id)
        self._present(snapshot.share)
        self._btrfs.take_snapshot(snapshot.id, snapshot.share.id)
        return None

    def delete_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """The copy is gone."""
        _vet_id(snapshot.id)
        self._btrfs.delete_snapshot(snapshot.id)

    def revert_to_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """The share holds what the snapshot holds. For a moment it is not exported; then with the rules it had."""
        ident = snapshot.share.id
        self._vet(snapshot.share)
        _vet_id(snapshot.id)
        if not self._btrfs.snapshot(snapshot.id).exists():
            raise errors.Final(f'Snapshot {snapshot.id} is not in the pool.')
        with self._alone(ident):
            blocks = self._nfs.clients_of(ident) or ''
            self._nfs.withdraw(ident, forget=False)
            mounts.unmount(self._mount_point(ident))
            self._btrfs.revert(ident, snapshot.id, snapshot.share.size)
            mounts.bind(self._pool.share(ident), self._mount_point(ident))
            self._nfs.export(ident, self._mount_point(ident), blocks)

    # Pieces -----------------------------------------------------------------------------------

    def _vet(self, share: kinds.Share) -> None:
        """The share is one that this backend can have.

        :raises errors.Final: it is not.
        """
        _vet_id(share.id)
        if share.pool != _POOL:
            raise errors.Final(f'There is no pool {share.pool!r} here, only {_POOL!r}.')
        if share.proto not in self.PROTOCOLS:
            raise errors.Final(f'This backend does not serve {share.proto}.')

    def _present(self, share: kinds.Share) -> None:
        """The share is in the pool.

        :raises errors.Final: it is not.
        """
        _vet_id(share.id)
        if not self._pool.share(share.id).exists():
            raise errors.Final(f'Share {share.id} is not in the pool.')

    @property
    def _btrfs(self) -> pool.Btrfs:
        if not isinstance(self._pool, pool.Btrfs):
            raise errors.Final('A plain directory can be neither limited nor snapshotted.')
        return self._pool

    def _mount_point(self, ident: str) -> Path:
        return self._state / 'exports' / ident

    def _locations(self, ident: str) -> list[kinds.ExportLocation]:
        addresses = sorted((str(address) for address in self.backend.conf.linux_export_ips), key=lambda text: ':' in text)
        return [kinds.ExportLocation(path=f'[{address}]:/shares/{ident}' if ':' in address else f'{address}:/shares/{ident}',
                                     preferred=position == 0, metadata={'ip_version': '6' if ':' in address else '4'})
                for position, address in enumerate(addresses)]

    @contextlib.contextmanager
    def _alone(self, ident: str) -> Iterator[None]:
        """Nobody else changes the export of this share meanwhile."""
        with self._guard:
            lock = self._locks[ident]
        with lock:
            yield


def _vet_id(ident: str) -> None:
    if not _SAFE_ID.fullmatch(ident):
        raise errors.Final(f'{ident!r} is no id of a share or snapshot.')
