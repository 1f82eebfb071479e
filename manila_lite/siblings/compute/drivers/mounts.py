# SPDX-License-Identifier: Apache-2.0
"""Mounts of exports on the host for its guests: one mount for each export, however many guests use it."""

import hashlib
import sys
from pathlib import Path

from oslo_config import cfg
from oslo_log import log

from manila_lite import errors
from manila_lite.conf import numeric
from manila_lite.siblings import nfs
from manila_lite.siblings.compute.drivers.interface import InstanceDriver, MountedShare

LOG = log.getLogger(__name__)

#: Options of every driver that mounts on the host.
OPTIONS = (
    cfg.StrOpt(
        'mount_way',
        default='auto',
        choices=['auto', *nfs.WAYS],
        help='Method for mounts of exports: the NFS client of the kernel, a bind mount of a directory that this host '
        'exports (see mount_local), or FUSE with libnfs for a kernel without an NFS client. "auto" takes the '
        'first method that works on the host.',
    ),
    cfg.StrOpt(
        'mount_options',
        default='vers=4.2',
        help='Mount options of the NFS client of the kernel, as in fstab. nosuid and nodev are added; guests do not '
        'notice them.',
    ),
    cfg.DictOpt(
        'mount_local',
        default={},
        help='Directories that this host exports, each as the beginning of export locations and the local directory: '
        '"192.0.2.7:/shares:/srv/pool/shares" gives a bind mount. Access rules are not checked then.',
    ),
    numeric.Float(
        'mount_timeout',
        default=60.0,
        min=1,
        max=numeric.WEEK,
        help='Seconds within which an export must be mounted. Then the start of the server fails: its NFS '
        'server does '
        'not answer.',
    ),
    numeric.Float(
        'unmount_timeout',
        default=20.0,
        min=1,
        max=numeric.WEEK,
        help='Seconds for which an unmount waits for the NFS server. Then the mount is removed by force, and data '
        'that the NFS server did not get yet are lost.',
    ),
    numeric.Float(
        'mount_check_timeout',
        default=10.0,
        min=0.5,
        max=numeric.WEEK,
        help='Seconds within which a mount must answer a periodic check ([compute] reconcile_interval).',
    ),
    cfg.StrOpt(
        'mount_netns',
        default='',
        help="Network namespace for connections to NFS servers. Default: the agent's.",
    ),
)


class HostMounts(InstanceDriver):
    """The part of a driver that mounts. Each export has a mount below ``mounts`` in the driver's directory (``state``)."""

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(conf)
        group = conf[self.GROUP]
        self.state = Path(conf.compute.state or Path(conf.state_path, 'compute')).absolute()
        self.images = Path(conf.compute.images or self.state / 'images').absolute()
        self.base = self.state / 'mounts'
        self._mounter = nfs.NfsMounter(
            nfs.LocalExecutor(group.mount_netns),
            way=group.mount_way,
            local=group.mount_local,
            options=','.join(filter(None, (group.mount_options, 'nosuid,nodev'))),
            python=sys.executable,
            mount_seconds=group.mount_timeout,
            unmount_seconds=group.unmount_timeout,
            force=True,
        )
        self._check_seconds = group.mount_check_timeout

    def mount_key(self, share: MountedShare) -> str:
        return hashlib.sha256(share.export.encode()).hexdigest()[:32]

    def directory_of(self, share: MountedShare) -> str:
        """Return the directory where the export of a share is mounted."""
        return str(self.base / self.mount_key(share))

    def share_mount(self, share: MountedShare) -> None:
        if share.protocol not in self.capabilities().protocols:
            raise errors.Final(f'This host cannot mount {share.protocol} shares.')
        self._must_be_free(share)
        try:
            self._mounter.mount(share.export, self.directory_of(share))
        except nfs.TimedOut as silent:
            seconds = self._mounter.mount_seconds
            raise errors.Final(
                f'The NFS server of share {share.id} did not answer within {seconds:g} s.'
            ) from silent

    def _must_be_free(self, share: MountedShare) -> None:
        """Refuse to hide files that are in the directory itself: something wrote there while nothing was mounted."""
        path = Path(self.directory_of(share))
        if self._mounter.mounted(str(path)) is None and path.is_dir() and any(path.iterdir()):
            LOG.error('%s is not empty, so nothing is mounted over it: move its files elsewhere', path)
            raise errors.Final(
                f'The mount point of share {share.id} on the host is not empty; the operator has to empty it.'
            )

    def share_umount(self, share: MountedShare) -> None:
        self.umount_key(self.mount_key(share))

    def umount_key(self, key: str) -> None:
        """See ``InstanceDriver.umount_key``. If a normal unmount fails, since the server does not answer, unmount lazily."""
        path = self.base / key
        try:
            self._mounter.unmount(str(path))
        except (errors.Unavailable, nfs.MountFailed):
            self._mounter.unmount(str(path), lazy=True)
        except nfs.MountBusy:
            # A process that waits for a silent server cannot be ended otherwise.
            if self._mounter.health(str(path), self._check_seconds) is not nfs.Health.SILENT:
                raise
            self._mounter.unmount(str(path), lazy=True)
        if path.is_dir():
            path.rmdir()

    def is_mounted(self, share: MountedShare) -> bool:
        return self._mounter.mounted(self.directory_of(share)) is not None

    def mount_health(self, share: MountedShare) -> nfs.Health:
        return self._mounter.health(self.directory_of(share), self._check_seconds)

    def list_mounted(self) -> frozenset[str]:
        return frozenset(Path(mount.path).name for mount in self._mounter.mounts(str(self.base)))
