# SPDX-License-Identifier: Apache-2.0
"""The driver: shares on a pool, each mounted on its own and exported by one NFS server, or by that of its share server."""

import contextlib
import dataclasses
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from oslo_log import log

from manila_lite import errors, kinds
from manila_lite.drivers.interface import (
    Backend,
    Clones,
    MountsSnapshots,
    Resizes,
    Reverts,
    Snapshots,
    capabilities_of,
    replication_of,
)
from manila_lite.drivers.linux import check, ip, locations, smb_users
from manila_lite.drivers.linux.backups import Backups, LinuxBackups
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.directory import Directory
from manila_lite.drivers.linux.ensuring import Ensuring
from manila_lite.drivers.linux.following import Followers
from manila_lite.drivers.linux.group_snapshots import LinuxGroupSnapshots
from manila_lite.drivers.linux.left import SNAPSHOTS
from manila_lite.drivers.linux.left import vet_id as _vet_id
from manila_lite.drivers.linux.managing import LinuxManaging
from manila_lite.drivers.linux.options import OPTIONS, wants_directory
from manila_lite.drivers.linux.outlet import Outlet
from manila_lite.drivers.linux.outlets import Outlets, protocols
from manila_lite.drivers.linux.pool import GIB, Pool
from manila_lite.drivers.linux.promises import LinuxPromises
from manila_lite.drivers.linux.replication import LinuxReplication
from manila_lite.drivers.linux.run import CommandFailed
from manila_lite.drivers.linux.servers import Servers
from manila_lite.drivers.linux.share_managing import LinuxShareManaging
from manila_lite.drivers.linux.share_migration import LinuxShareMigration

LOG = log.getLogger(__name__)

_VERSION = '1.0'
_POOL = 'pool'
#: What a plain directory cannot do.
_NEED_BTRFS = ('snapshot_support', 'create_share_from_snapshot_support', 'revert_to_snapshot_support',
               'mount_snapshot_support', 'snapshot_inherit_share_access_support')
_LOCKS = 64
#: Options whose change concerns every share.
_OF_EXPORTS = ('linux_export_ips', 'linux_nfs_port', 'linux_cifs_port', 'linux_cifs_users', 'linux_netns', 'linux_graceless',
               'linux_grace_period')


class LinuxDriver(LinuxReplication, LinuxShareMigration, LinuxManaging, LinuxPromises, LinuxShareManaging, Resizes, Snapshots,
                  MountsSnapshots, Clones, Reverts, LinuxGroupSnapshots, LinuxBackups):
    """NFS and CIFS shares of this machine. What it does is in the modules beside it; here is the order of things.

    Clients of NFS see the share's size in ``df``, those of CIFS the pool's; the share's is enforced (EDQUOT).
    """

    OPTIONS = OPTIONS

    def __init__(self, backend: Backend):
        super().__init__(backend)
        conf = backend.conf
        # Mounts are listed by their real paths; by another, NFS-Ganesha and "mounts" would not find them.
        self._state = backend.state_dir.resolve()
        source = Path(conf.linux_pool_path).resolve()
        self._pool: Pool = (Directory(source) if wants_directory(conf)
                            else BtrfsPool(self._state / 'pool', source, conf.linux_pool_size_gb))
        self.HANDLES_SHARE_SERVERS = conf.driver_handles_share_servers
        self._limits = self.HANDLES_SHARE_SERVERS and conf.max_shares_per_share_server == 1
        self._outlets = Outlets(self._state, conf, conf.linux_netns, self._exported)
        self.PROTOCOLS = protocols(conf)
        self._servers = Servers(self._state, conf, self._exported)
        self._followers = Followers()
        self.copies = Backups(self._pool, self._state, self._need, self._swap_in)
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))
        self._ensuring = Ensuring(self._pool, need=self._need, outlet_of=self._outlet_of, source=self._source,
                                  alone=self._alone, locations=self._locations, limit=self._limit_again)

    @classmethod
    def check(cls, backend: Backend) -> Sequence[kinds.Problem]:
        """Say what this machine lacks, with the package that has it."""
        return list(check.problems(backend, needs_btrfs=not wants_directory(backend.conf)))

    # Life -------------------------------------------------------------------------------------

    def setup(self) -> None:
        """The pool is mounted and the file servers run, with the exports of an earlier run.

        :raises errors.Final: one of the two does not work; with what it said.
        """
        self._state.mkdir(parents=True, exist_ok=True)
        self._state.chmod(0o700)
        try:
            self._pool.open()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(f'linux_pool_path = {self.backend.conf.linux_pool_path} cannot be used as a pool: {bad}'
                               ) from bad
        if 'CIFS' not in self.PROTOCOLS and self.backend.conf.linux_cifs_users:
            LOG.warning('%s serves NFS only: %s', self.backend.host, check.lacks_for_cifs(self.backend.conf))
        try:
            if self.HANDLES_SHARE_SERVERS:
                self._servers.adopt()
            else:
                self._outlets.start()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(str(bad)) from bad

    def teardown(self, *, remove_data: bool = False) -> None:
        """Nothing of this backend runs or is mounted; with ``remove_data`` nothing of it is left."""
        self._outlets.stop()
        self._servers.halt()
        self._pool.close(remove_data=remove_data)
        if remove_data:
            shutil.rmtree(self._state, ignore_errors=True)

    def report(self) -> Sequence[kinds.Pool]:
        """Return the one pool. It is thin: a share takes the space that it fills. An NFS server that died runs again."""
        self._awake()
        total, free = self._pool.capacity()
        able = self._pool.CAPABLE
        families = {4, 6} if self.HANDLES_SHARE_SERVERS else {
            6 if ':' in str(address) else 4 for address in self.backend.conf.linux_export_ips}
        found = {name: true and (able or name not in _NEED_BTRFS) for name, true in capabilities_of(self).items()}
        return [kinds.Pool(
            name=_POOL, total_gb=round(total, 2), free_gb=round(free, 2),
            reserved_percentage=self.backend.conf.reserved_share_percentage, thin_provisioning=True,
            max_over_subscription_ratio=self.backend.conf.max_over_subscription_ratio,
            capabilities={
                'vendor_name': 'manila_lite', 'driver_version': _VERSION, **found,
                'storage_protocol': '_'.join(sorted(self.PROTOCOLS, reverse=True)),
                'mount_point_name_support': True, 'size_limit_support': able,
                'ipv4_support': 4 in families, 'ipv6_support': 6 in families,
                'qos': self._limits, 'dedupe': False, 'compression': False,
                **(replication_of(self, self.backend.conf.linux_replication_domain) if able
                   else {'sg_consistent_snapshot_support': None})})]

    def _awake(self) -> None:
        """File servers that died run again."""
        if not self.HANDLES_SHARE_SERVERS:
            self._outlets.awake()
        for outlets in self._servers.outlets():
            try:
                outlets.awake()
            except (CommandFailed, OSError) as bad:
                LOG.error('A share server is not served, and the others are: %s', bad)

    # Shares -----------------------------------------------------------------------------------

    def create_share(self, share: kinds.Share) -> Sequence[kinds.ExportLocation]:
        """An empty share exists, mounted and exported to nobody."""
        return self._make(share, lambda: self._pool.create(share.id, share.size))

    def create_share_from_snapshot(self, share: kinds.Share, snapshot: kinds.Snapshot) -> Sequence[kinds.ExportLocation]:
        """A share with the snapshot's content exists; nothing is copied."""
        _vet_id(snapshot.id)
        return self._make(share, lambda: self._btrfs.clone(share.id, snapshot.id, share.size))

    def _make(self, share: kinds.Share, make: Callable[[], None]) -> Sequence[kinds.ExportLocation]:
        self._vet(share)
        with self._alone(share.id):
            outlet = self._outlet_of(share)
            self._limit_new(share)
            make()
            outlet.serve(share.id, self._pool.share(share.id), (), share.mount_point_name)
        return self._locations(share)

    def delete_share(self, share: kinds.Share) -> None:
        """The export, the mount and the data are gone; a busy mount goes when its last user ends."""
        _vet_id(share.id)
        with self._alone(share.id):
            self._forget_export(share)
            if share.id in self._pool.left_shares:      # and not ours to delete
                return
            self._pool.discard(share.id)
        self._ensuring.forget(share.id)
        self._pool.purge(share.id)

    def _forget_export(self, share: kinds.Share, snapshot: str | None = None) -> None:
        ident = snapshot or share.id
        if not self.HANDLES_SHARE_SERVERS:
            self._outlets.forget(ident)
        elif share.server:
            self._servers.forget(share.server.id, ident)

    def extend_share(self, share: kinds.Share, new_size: int) -> None:
        """The limit is higher at once, also for clients that have the share mounted."""
        self._need(share)
        self._resize(share.id, new_size)

    def _resize(self, ident: str, size: int) -> None:
        self._btrfs.resize(ident, size)
        self._ensuring.sized(ident, size)

    def shrink_share(self, share: kinds.Share, new_size: int) -> None:
        """The limit is lower. The kernel would take one below what is used, so that is refused here."""
        self._need(share)
        used = self._btrfs.used(share.id)
        if used > new_size * GIB:
            raise errors.RefusedShrink(f'The share holds {used / GIB:.2f} GiB, more than the {new_size} GiB asked for.')
        self._resize(share.id, new_size)

    # Access -----------------------------------------------------------------------------------

    def update_access(self, share: kinds.Share, rules: Sequence[kinds.AccessRule]) -> Mapping[str, kinds.RuleResult]:
        """Exactly these rules are in force, also for open sessions."""
        _vet_id(share.id)
        with self._alone(share.id):
            if source := self._source(share.id):
                if rules:
                    self._limit(share)
                outlet = self._outlet_of(share)
                blocks, results = outlet.blocks(rules)
                refused = outlet.serve(share.id, source, [block.text for block in blocks], share.mount_point_name)
            elif rules:
                raise _missing(share.id)
            else:
                return {}
        return results | {blocks[position].rule_id: kinds.RuleResult(error=why) for position, why in refused.items()}

    def ensure_shares(self, targets: Sequence[kinds.EnsureTarget]) -> Mapping[str, kinds.EnsureResult]:
        """Each share is mounted, limited and exported with its rules; one whose data is gone is reported."""
        return self._ensuring.shares(targets)

    def fingerprint(self) -> Mapping[str, str]:
        """Return what exports depend on: options, who there is to be let in, and which namespace they are in."""
        conf = self.backend.conf
        space = str(ip.identity(conf.linux_netns)) if conf.linux_netns and not self.HANDLES_SHARE_SERVERS else ''
        users = smb_users.stamp(Path(conf.linux_cifs_users)) if conf.linux_cifs_users else ''
        return {name: str(conf[name]) for name in _OF_EXPORTS} | {'space': space, 'users': users}

    # Snapshots --------------------------------------------------------------------------------

    def create_snapshot(self, snapshot: kinds.Snapshot) -> str | None:
        """A read-only copy exists; it takes no time and no space."""
        _vet_id(snapshot.id)
        self._need(snapshot.share)
        self._btrfs.take_snapshot(snapshot.id, snapshot.share.id)
        return f'/{SNAPSHOTS}/{snapshot.id}'

    def delete_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """The copy is gone, and nobody has it mounted."""
        _vet_id(snapshot.id)
        with self._alone(snapshot.id):
            self._forget_export(snapshot.share, snapshot.id)
            if snapshot.id not in self._btrfs.left_snapshots:
                self._btrfs.delete_snapshot(snapshot.id)

    def serve_snapshot(self, snapshot: kinds.Snapshot, rules: Sequence[kinds.AccessRule]) -> kinds.ServedSnapshot:
        """The copy is mounted and exported, as a share is."""
        _vet_id(snapshot.id)
        self._vet(snapshot.share)
        with self._alone(snapshot.id):
            source = self._copy_at(snapshot.id)
            if source is None:
                raise errors.Final(f'Snapshot {snapshot.id} is not in the pool.')
            outlet = self._outlet_of(snapshot.share)
            blocks, results = outlet.blocks(rules)
            refused = outlet.serve(snapshot.id, source, [block.text for block in blocks])
        results |= {blocks[position].rule_id: kinds.RuleResult(error=why) for position, why in refused.items()}
        as_share = dataclasses.replace(snapshot.share, id=snapshot.id, mount_point_name=None)
        return kinds.ServedSnapshot(tuple(self._locations(as_share)), results)

    def unmanage_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """Nobody mounts it from here any more, and it stays where it is."""
        _vet_id(snapshot.id)
        with self._alone(snapshot.id):
            self._forget_export(snapshot.share, snapshot.id)
        super().unmanage_snapshot(snapshot)

    def revert_to_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """The share holds what the snapshot holds. For a moment it is not exported; then with the rules it had."""
        ident = snapshot.share.id
        _vet_id(snapshot.id)
        self._vet(snapshot.share)
        self._need(snapshot.share)
        outlet = self._outlet_of(snapshot.share)
        self._btrfs.prepare_revert(ident, snapshot.id, snapshot.share.size)
        with self._alone(ident):
            outlet.withdraw(ident)
            self._btrfs.swap(ident)
            self._ensuring.sized(ident, snapshot.share.size)
            outlet.serve_again(ident, self._pool.share(ident))
        self._btrfs.purge(ident)

    # Pieces -----------------------------------------------------------------------------------

    def _outlet_of(self, share: kinds.Share) -> Outlet:
        """Return what serves the share.

        :raises errors.Final: it is to be on a share server, and that does not run; or nothing serves it here.
        """
        if not self.HANDLES_SHARE_SERVERS:
            return self._outlets.of(share.proto)
        if share.server is None:
            raise errors.Final(f'Share {share.id} has no share server.')
        return self._servers.outlet(share.server.id, share.proto)

    def _locations(self, share: kinds.Share) -> list[kinds.ExportLocation]:
        if self.HANDLES_SHARE_SERVERS and share.server:
            return locations.on(share, share.server)
        return locations.at(share, map(str, self.backend.conf.linux_export_ips))

    def _vet(self, share: kinds.Share) -> None:
        """The share is one that this backend can have.

        :raises errors.Final: it is not.
        """
        _vet_id(share.id)
        if share.pool != _POOL:
            raise errors.Final(f'There is no pool {share.pool!r} here, only {_POOL!r}.')
        if share.proto not in self.PROTOCOLS:
            raise errors.Final(f'This backend does not serve {share.proto}.')

    def _source(self, ident: str) -> Path | None:
        """Return where in the pool the share is, once what died half way is put right; nothing if it is not there, or not
        ours any more.
        """
        if ident in self._pool.left_shares:
            return None
        if not self._pool.share(ident).exists():
            self._pool.recover(ident)
        return self._pool.share(ident) if self._pool.share(ident).exists() else None

    def _copy_at(self, ident: str) -> Path | None:
        """Return where in the pool the snapshot is; nothing if it is not there, or not ours any more."""
        if not isinstance(self._pool, BtrfsPool) or ident in self._pool.left_snapshots:
            return None
        return self._pool.snapshot(ident) if self._pool.snapshot(ident).exists() else None

    def _exported(self, ident: str) -> Path | None:
        """Return where in the pool a share or a snapshot is, or nothing."""
        return self._source(ident) or self._copy_at(ident)

    def _need(self, share: kinds.Share) -> None:
        """The share is in the pool.

        :raises errors.Final: it is not.
        """
        _vet_id(share.id)
        with self._alone(share.id):
            if not self._source(share.id):
                raise _missing(share.id)

    @property
    def parts(self) -> tuple[Pool, Servers]:
        """What a peer of this backend works on."""
        return self._pool, self._servers

    @property
    def _btrfs(self) -> BtrfsPool:
        if not isinstance(self._pool, BtrfsPool):
            raise errors.Final('A plain directory can be neither limited nor snapshotted.')
        return self._pool

    @contextlib.contextmanager
    def _alone(self, ident: str) -> Iterator[None]:
        """Nobody else changes the name, the mount or the export of this share meanwhile."""
        with self._locks[hash(ident) % _LOCKS]:
            yield


def _missing(ident: str) -> errors.Final:
    return errors.Final(f'Share {ident}: its data is not in the pool.')

