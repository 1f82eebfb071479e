# SPDX-License-Identifier: Apache-2.0
"""Default quotas, used if neither the project nor its class has a limit. -1: no limit."""

from oslo_config import cfg

from manila_lite.conf import numeric


def _limit(name: str, default: int, what: str) -> cfg.IntOpt:
    return numeric.Int(name, default=default, min=-1, mutable=True, help=f'{what} per project. -1: no limit.')


OPTIONS = {
    'quota': [
        _limit('shares', 50, 'Maximum number of shares'),
        _limit('snapshots', 50, 'Maximum number of snapshots'),
        _limit('gigabytes', 1000, 'Maximum total size in GiB of all shares'),
        _limit('snapshot_gigabytes', 1000, 'Maximum total size in GiB of all snapshots'),
        numeric.Int(
            'per_share_gigabytes',
            default=-1,
            min=-1,
            mutable=True,
            help='Maximum size of one share in GiB. -1: no limit.',
        ),
        _limit('share_networks', 10, 'Maximum number of share networks'),
        _limit('share_groups', 50, 'Maximum number of share groups'),
        _limit('share_group_snapshots', 50, 'Maximum number of share group snapshots'),
        _limit('share_replicas', 100, 'Maximum number of share replicas'),
        _limit('replica_gigabytes', 1000, 'Maximum total size in GiB of all share replicas'),
        _limit('backups', 10, 'Maximum number of share backups'),
        _limit('backup_gigabytes', 1000, 'Maximum total size in GiB of all share backups'),
        _limit('encryption_keys', 100, 'Maximum number of encryption key references'),
    ]
}
