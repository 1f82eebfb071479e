# SPDX-License-Identifier: Apache-2.0
"""Backups of NFS shares of any backend: this host mounts them like a client, so the driver needs no ability for it.

The backend has to grant this host access while a copy runs (``NfsBackups.client_of``); the manager does that.
"""

from pathlib import Path
from typing import Any

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.backups.backup_jobs import BackupJobs
from manila_lite.drivers.backups.backup_jobs_driver import BackupJobsDriver
from manila_lite.host_copy import exports
from manila_lite.host_copy.exports import address_towards, shows_attributes

LOG = log.getLogger(__name__)


class NfsCopies(BackupJobs):
    """Copies of shares that are mounted on this host during the copy. ``options`` are options of mount(8)."""

    def __init__(self, state_dir: Path, options: str):
        super().__init__(state_dir)
        self._options = options

    def readable(self, share: values.Share, backup: values.Backup) -> Path:
        """See ``BackupJobs``. Data that clients write during the copy may be in it."""
        path = self._mounted(share, backup, 'ro')
        if not shows_attributes(path):
            LOG.warning(
                'Backup %s: the server of share %s shows no extended attributes, so the backup will have none',
                backup.id,
                share.share_id,
            )
        return path

    def writable(self, share: values.Share, backup: values.Backup) -> Path:
        return self._mounted(share, backup, 'rw')

    def _mounted(self, share: values.Share, backup: values.Backup, level: str) -> Path:
        path = self.share_mount_point(backup.id)
        options = (level, exports.options_of(share), self._options)  # those that are configured win
        self.mount(location_of(share), path, 'nfs', ','.join(word for word in options if word))
        return path


def location_of(share: values.Share) -> str:
    """Return the export location by which this host mounts an NFS share.

    :raises errors.Final: there is none, or the share is not an NFS share.
    """
    if share.proto.upper() != 'NFS':
        raise errors.Final(f'A backup over NFS needs an NFS share, and this one is {share.proto}.')
    return exports.location_of(share)


class NfsBackups(BackupJobsDriver):
    """Backups for a backend whose driver cannot back up. ``section``: the backend's options."""

    def __init__(self, state_dir: Path, section: Any):
        self._copies = NfsCopies(state_dir, section.backup_share_mount_options)
        self._client = section.backup_client_ip

    @property
    def copies(self) -> NfsCopies:
        return self._copies

    def client_of(self, share: values.Share) -> str:
        """Return the IP address from which this host mounts the share; the backend's server has to grant it access.

        :raises errors.Final: the share cannot be mounted.
        :raises OSError: there is no route to its server.
        """
        return str(self._client or address_towards(location_of(share)))
