# SPDX-License-Identifier: Apache-2.0
"""What goes after a while: shares in the recycle bin, offers of shares; and what goes unseen."""

from oslo_config import cfg

DEFAULT = [
    cfg.IntOpt('soft_deleted_share_retention_time', default=604800, min=0, mutable=True,
               help='Seconds that a share stays in the recycle bin before it is deleted.'),
    cfg.FloatOpt('check_for_expired_shares_in_recycle_bin_interval', default=3600.0, min=0.05,
                 help='Seconds between looks for shares whose time in the recycle bin is over.'),
    cfg.BoolOpt('is_deferred_deletion_enabled', default=False, mutable=True,
                help='Whether a share or snapshot that its owner deletes is gone for them, and for their quota, at once, and '
                     'for the backend when it comes to that.'),
    cfg.FloatOpt('periodic_deferred_delete_interval', default=300.0, min=0.05,
                 help='Seconds between tries of deferred deletions that failed.'),
    cfg.IntOpt('transfer_retention_time', default=300, min=1, mutable=True,
               help='Seconds that the transfer of a share can be accepted; then the share is as before.'),
    cfg.FloatOpt('check_for_expired_transfers', default=300.0, min=0.05,
                 help='Seconds between looks for transfers that can be accepted no more.'),
    cfg.IntOpt('share_transfer_key_length', default=16, min=8, max=255, mutable=True,
               help='Characters of the key that whoever accepts a transfer must know.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('DEFAULT', DEFAULT)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    conf.register_opts(DEFAULT)
