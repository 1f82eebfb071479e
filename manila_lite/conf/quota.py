# SPDX-License-Identifier: Apache-2.0
"""Quotas that hold where neither the project nor its class says otherwise. -1: no limit."""

from oslo_config import cfg


def _limit(name: str, default: int, what: str) -> cfg.IntOpt:
    return cfg.IntOpt(name, default=default, min=-1, mutable=True, help=f'{what} per project; -1 for no limit.')


QUOTA = [
    _limit('shares', 50, 'Shares'),
    _limit('snapshots', 50, 'Snapshots'),
    _limit('gigabytes', 1000, 'GiB of all shares'),
    _limit('snapshot_gigabytes', 1000, 'GiB of all snapshots'),
    cfg.IntOpt('per_share_gigabytes', default=-1, min=-1, mutable=True, help='GiB of any one share; -1 for no limit.'),
    _limit('share_networks', 10, 'Share networks'),
    _limit('share_groups', 50, 'Share groups'),
    _limit('share_group_snapshots', 50, 'Share group snapshots'),
    _limit('share_replicas', 100, 'Share replicas'),
    _limit('replica_gigabytes', 1000, 'GiB of all share replicas'),
    _limit('backups', 10, 'Share backups'),
    _limit('backup_gigabytes', 1000, 'GiB of all share backups'),
    _limit('encryption_keys', 100, 'Encryption key references'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('quota', QUOTA)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)

