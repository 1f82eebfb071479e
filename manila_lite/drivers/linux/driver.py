# SPDX-License-Identifier: Apache-2.0
"""The linux driver: each share of a pool is mounted separately, and exported by one file server or by that of its share
server.
"""

import contextlib
import dataclasses
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from oslo_log import log

from manila_lite import errors, values
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
from manila_lite.drivers.linux.backups.share_backups import Backups, LinuxBackups
from manila_lite.drivers.linux.ensure import Ensuring
from manila_lite.drivers.linux.group_snapshots import LinuxGroupSnapshots
from manila_lite.drivers.linux.ids import vet_id as _vet_id
from manila_lite.drivers.linux.manage_shares import LinuxShareManaging
from manila_lite.drivers.linux.options import OPTIONS, wants_directory
from manila_lite.drivers.linux.pool.base import GIB, Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.drivers.linux.pool.unmanaged import SNAPSHOTS
from manila_lite.drivers.linux.protocols import check, export_locations, samba_users
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer
from manila_lite.drivers.linux.protocols.protocol_servers import ProtocolServers, protocols
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.drivers.linux.replication.share_migration import LinuxShareMigration
from manila_lite.drivers.linux.replication.share_replicas import LinuxReplication
from manila_lite.drivers.linux.servers.manage_servers import LinuxManageServers
from manila_lite.drivers.linux.servers.qos import LinuxQos
from manila_lite.drivers.linux.servers.share_servers import Servers
from manila_lite.host import ip
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

_VERSION = '1.0'
_POOL = 'pool'
#: Capabilities that a plain directory does not have.
_NEED_BTRFS = ('snapshot_support', 'create_share_from_snapshot_support', 'revert_to_snapshot_support',
               'mount_snapshot_support', 'snapshot_inherit_share_access_support')
_LOCKS = 64
#: Options that the exports of all shares depend on.
_OF_EXPORTS = ('linux_export_ips', 'linux_nfs_port', 'linux_cifs_port', 'linux_cifs_users', 'linux_netns', 'linux_graceless',
               'linux_grace_period')


class LinuxDriver(LinuxReplication, LinuxShareMigration, LinuxManageServers, LinuxQos, LinuxShareManaging, Resizes, Snapshots,
                  MountsSnapshots, Clones, Reverts, LinuxGroupSnapshots, LinuxBackups):
    """NFS and CIFS shares of this machine. The modules beside this one do the work; the driver calls them in order.

    NFS clients see the share's size in ``df``, CIFS clients that of the pool. The share's size is enforced (EDQUOT).
    """

    OPTIONS = OPTIONS

    def __init__(self, backend: Backend):
        super().__init__(backend)
        conf = backend.conf
        # The kernel lists mounts by their real paths. By other paths, NFS-Ganesha and ``mounts`` would not find them.
        self._state = backend.state_dir.resolve()
        source = Path(conf.linux_pool_path).resolve()
        self._pool: Pool = (Directory(source) if wants_directory(conf)
                            else BtrfsPool(self._state / 'pool', source, conf.linux_pool_size_gb))
        self.HANDLES_SHARE_SERVERS = conf.driver_handles_share_servers
        self._limits = self.HANDLES_SHARE_SERVERS and conf.max_shares_per_share_server == 1
        self._protocol_servers = ProtocolServers(self._state, conf, conf.linux_netns, self._exported)
        self.PROTOCOLS = protocols(conf)
        self._servers = Servers(self._state, conf, self._exported)
        self._followers = CopySupervisor()
        self.copies = Backups(self._pool, self._state, self._need, self._swap_in)
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))
        self._ensuring = Ensuring(self._pool, need=self._need, protocol_server_of=self._protocol_server_of, source=self._source,
                                  alone=self._alone, locations=self._locations, limit=self._limit_again)

    @classmethod
    def check(cls, backend: Backend) -> Sequence[values.Problem]:
        """Return missing requirements of this machine, with the package that provides each."""
        return list(check.problems(backend, needs_btrfs=not wants_directory(backend.conf)))

    # Life -------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Mount the pool and start the file servers, with the exports of an earlier run.

        :raises errors.Final: the pool or a file server does not work; with its error message.
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
                self._protocol_servers.start()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(str(bad)) from bad

    def teardown(self, *, remove_data: bool = False) -> None:
        """Stop and unmount everything of this backend; with ``remove_data``, delete its data too."""
        self._protocol_servers.stop()
        self._servers.halt()
        self._pool.close(remove_data=remove_data)
        if remove_data:
            shutil.rmtree(self._state, ignore_errors=True)

    def report(self) -> Sequence[values.Pool]:
        """Return the one pool, and start file servers again that died.

        The pool is thin: a share takes only the space that it fills.
        """
        self._awake()
        total, free = self._pool.capacity()
        able = self._pool.CAPABLE
        families = {4, 6} if self.HANDLES_SHARE_SERVERS else {
            6 if ':' in str(address) else 4 for address in self.backend.conf.linux_export_ips}
        found = {name: true and (able or name not in _NEED_BTRFS) for name, true in capabilities_of(self).items()}
        return [values.Pool(
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
        """Start file servers again that died."""
        if not self.HANDLES_SHARE_SERVERS:
            self._protocol_servers.awake()
        for protocol_servers in self._servers.protocol_servers():
            try:
                protocol_servers.awake()
            except (CommandFailed, OSError) as bad:
                LOG.error('A share server is not served, and the others are: %s', bad)

    # Shares -----------------------------------------------------------------------------------

    def create_share(self, share: values.Share) -> Sequence[values.ExportLocation]:
        """Create an empty share, mounted and exported without access rules."""
        return self._make(share, lambda: self._pool.create(share.id, share.size))

    def create_share_from_snapshot(self, share: values.Share, snapshot: values.Snapshot) -> Sequence[values.ExportLocation]:
        """Create a share with the snapshot's content; no data is copied."""
        _vet_id(snapshot.id)
        return self._make(share, lambda: self._btrfs.clone(share.id, snapshot.id, share.size))

    def _make(self, share: values.Share, make: Callable[[], None]) -> Sequence[values.ExportLocation]:
        self._vet(share)
        with self._alone(share.id):
            protocol_server = self._protocol_server_of(share)
            self._limit_new(share)
            make()
            protocol_server.serve(share.id, self._pool.share(share.id), (), share.mount_point_name)
        return self._locations(share)

    def delete_share(self, share: values.Share) -> None:
        """Delete the export, the mount and the data; a busy mount goes when its last user ends."""
        _vet_id(share.id)
        with self._alone(share.id):
            self._forget_export(share)
            if share.id in self._pool.left_shares:      # unmanaged shares are not deleted
                return
            self._pool.discard(share.id)
        self._ensuring.forget(share.id)
        self._pool.purge(share.id)

    def _forget_export(self, share: values.Share, snapshot: str | None = None) -> None:
        ident = snapshot or share.id
        if not self.HANDLES_SHARE_SERVERS:
            self._protocol_servers.forget(ident)
        elif share.server:
            self._servers.forget(share.server.id, ident)

    def extend_share(self, share: values.Share, new_size: int) -> None:
        """Raise the limit; clients that have the share mounted can use it at once."""
        self._need(share)
        self._resize(share.id, new_size)

    def _resize(self, ident: str, size: int) -> None:
        self._btrfs.resize(ident, size)
        self._ensuring.sized(ident, size)

    def shrink_share(self, share: values.Share, new_size: int) -> None:
        """Lower the limit. The kernel would accept a limit below the usage, so that is refused here."""
        self._need(share)
        used = self._btrfs.used(share.id)
        if used > new_size * GIB:
            raise errors.RefusedShrink(f'The share holds {used / GIB:.2f} GiB, more than the {new_size} GiB asked for.')
        self._resize(share.id, new_size)

    # Access -----------------------------------------------------------------------------------

    def update_access(self, share: values.Share, rules: Sequence[values.AccessRule]) -> Mapping[str, values.RuleResult]:
        """Put exactly these rules in force, also for open sessions."""
        _vet_id(share.id)
        with self._alone(share.id):
            if source := self._source(share.id):
                if rules:
                    self._limit(share)
                protocol_server = self._protocol_server_of(share)
                blocks, results = protocol_server.blocks(rules)
                refused = protocol_server.serve(share.id, source, [block.text for block in blocks], share.mount_point_name)
            elif rules:
                raise _missing(share.id)
            else:
                return {}
        return results | {blocks[position].rule_id: values.RuleResult(error=why) for position, why in refused.items()}

    def ensure_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        """Bring back the mount, limit, export and rules of each share; a share whose data is missing gets an error."""
        return self._ensuring.shares(targets)

    def fingerprint(self) -> Mapping[str, str]:
        """Return the values that exports depend on: options, the state of the CIFS user list, and the network
        namespace.
        """
        conf = self.backend.conf
        space = str(ip.identity(conf.linux_netns)) if conf.linux_netns and not self.HANDLES_SHARE_SERVERS else ''
        users = samba_users.stamp(Path(conf.linux_cifs_users)) if conf.linux_cifs_users else ''
        return {name: str(conf[name]) for name in _OF_EXPORTS} | {'space': space, 'users': users}

    # Snapshots --------------------------------------------------------------------------------

    def create_snapshot(self, snapshot: values.Snapshot) -> str | None:
        """Take a read-only snapshot; it takes no time and no space."""
        _vet_id(snapshot.id)
        self._need(snapshot.share)
        self._btrfs.take_snapshot(snapshot.id, snapshot.share.id)
        return f'/{SNAPSHOTS}/{snapshot.id}'

    def delete_snapshot(self, snapshot: values.Snapshot) -> None:
        """Delete the snapshot with its export and its mount."""
        _vet_id(snapshot.id)
        with self._alone(snapshot.id):
            self._forget_export(snapshot.share, snapshot.id)
            if snapshot.id not in self._btrfs.left_snapshots:
                self._btrfs.delete_snapshot(snapshot.id)

    def serve_snapshot(self, snapshot: values.Snapshot, rules: Sequence[values.AccessRule]) -> values.ServedSnapshot:
        """Mount and export the snapshot like a share."""
        _vet_id(snapshot.id)
        self._vet(snapshot.share)
        with self._alone(snapshot.id):
            source = self._copy_at(snapshot.id)
            if source is None:
                raise errors.Final(f'Snapshot {snapshot.id} is not in the pool.')
            protocol_server = self._protocol_server_of(snapshot.share)
            blocks, results = protocol_server.blocks(rules)
            refused = protocol_server.serve(snapshot.id, source, [block.text for block in blocks])
        results |= {blocks[position].rule_id: values.RuleResult(error=why) for position, why in refused.items()}
        as_share = dataclasses.replace(snapshot.share, id=snapshot.id, mount_point_name=None)
        return values.ServedSnapshot(tuple(self._locations(as_share)), results)

    def unmanage_snapshot(self, snapshot: values.Snapshot) -> None:
        """Remove the snapshot's export and mount, and unmanage it where it is."""
        _vet_id(snapshot.id)
        with self._alone(snapshot.id):
            self._forget_export(snapshot.share, snapshot.id)
        super().unmanage_snapshot(snapshot)

    def revert_to_snapshot(self, snapshot: values.Snapshot) -> None:
        """Replace the share's data by the snapshot's. The share is not exported for a moment, and then has its previous
        rules.
        """
        ident = snapshot.share.id
        _vet_id(snapshot.id)
        self._vet(snapshot.share)
        self._need(snapshot.share)
        protocol_server = self._protocol_server_of(snapshot.share)
        self._btrfs.prepare_revert(ident, snapshot.id, snapshot.share.size)
        with self._alone(ident):
            protocol_server.withdraw(ident)
            self._btrfs.swap(ident)
            self._ensuring.sized(ident, snapshot.share.size)
            protocol_server.serve_again(ident, self._pool.share(ident))
        self._btrfs.purge(ident)

    # Pieces -----------------------------------------------------------------------------------

    def _protocol_server_of(self, share: values.Share) -> ProtocolServer:
        """Return the outlet that serves the share.

        :raises errors.Final: its share server does not run, or this backend does not serve its protocol.
        """
        if not self.HANDLES_SHARE_SERVERS:
            return self._protocol_servers.of(share.proto)
        if share.server is None:
            raise errors.Final(f'Share {share.id} has no share server.')
        return self._servers.protocol_server(share.server.id, share.proto)

    def _locations(self, share: values.Share) -> list[values.ExportLocation]:
        if self.HANDLES_SHARE_SERVERS and share.server:
            return export_locations.on(share, share.server)
        return export_locations.at(share, map(str, self.backend.conf.linux_export_ips))

    def _vet(self, share: values.Share) -> None:
        """Check that the share can be on this backend.

        :raises errors.Final: it cannot.
        """
        _vet_id(share.id)
        if share.pool != _POOL:
            raise errors.Final(f'There is no pool {share.pool!r} here, only {_POOL!r}.')
        if share.proto not in self.PROTOCOLS:
            raise errors.Final(f'This backend does not serve {share.proto}.')

    def _source(self, ident: str) -> Path | None:
        """Return the share's path in the pool; None if the share is missing or unmanaged.

        A change of the share that died half way is recovered first.
        """
        if ident in self._pool.left_shares:
            return None
        if not self._pool.share(ident).exists():
            self._pool.recover(ident)
        return self._pool.share(ident) if self._pool.share(ident).exists() else None

    def _copy_at(self, ident: str) -> Path | None:
        """Return the snapshot's path in the pool; None if the snapshot is missing or unmanaged."""
        if not isinstance(self._pool, BtrfsPool) or ident in self._pool.left_snapshots:
            return None
        return self._pool.snapshot(ident) if self._pool.snapshot(ident).exists() else None

    def _exported(self, ident: str) -> Path | None:
        """Return the path of a share or a snapshot in the pool, or None."""
        return self._source(ident) or self._copy_at(ident)

    def _need(self, share: values.Share) -> None:
        """Check that the share is in the pool.

        :raises errors.Final: it is missing.
        """
        _vet_id(share.id)
        with self._alone(share.id):
            if not self._source(share.id):
                raise _missing(share.id)

    @property
    def parts(self) -> tuple[Pool, Servers]:
        """The pool and the share servers, for a peer of this backend."""
        return self._pool, self._servers

    @property
    def _btrfs(self) -> BtrfsPool:
        if not isinstance(self._pool, BtrfsPool):
            raise errors.Final('A plain directory can be neither limited nor snapshotted.')
        return self._pool

    @contextlib.contextmanager
    def _alone(self, ident: str) -> Iterator[None]:
        """Keep other threads from changing the name, mount or export of this share."""
        with self._locks[hash(ident) % _LOCKS]:
            yield


def _missing(ident: str) -> errors.Final:
    return errors.Final(f'Share {ident}: its data is not in the pool.')

