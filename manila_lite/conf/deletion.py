# SPDX-License-Identifier: Apache-2.0
"""Options of deletions after a time: shares in the recycle bin, transfers, and deferred deletions."""

from oslo_config import cfg

from manila_lite.conf import numeric

OPTIONS = {
    'DEFAULT': [
        numeric.Int(
            'soft_deleted_share_retention_time',
            default=604800,
            min=0,
            mutable=True,
            help='Seconds for which a share stays in the recycle bin before it is deleted.',
        ),
        numeric.Float(
            'check_for_expired_shares_in_recycle_bin_interval',
            default=3600.0,
            min=0.05,
            help='Seconds between two searches for shares in the recycle bin that have expired.',
        ),
        cfg.BoolOpt(
            'is_deferred_deletion_enabled',
            default=False,
            mutable=True,
            help='Remove a share or snapshot that its owner deletes at once from lists and quota, and delete it at the '
            'backend later.',
        ),
        numeric.Float(
            'periodic_deferred_delete_interval',
            default=300.0,
            min=0.05,
            help='Seconds between two tries of a deferred deletion that failed.',
        ),
        numeric.Int(
            'transfer_retention_time',
            default=300,
            min=1,
            mutable=True,
            help='Seconds for which a transfer of a share can be accepted. Then the share is as before.',
        ),
        numeric.Float(
            'check_for_expired_transfers',
            default=300.0,
            min=0.05,
            help='Seconds between two searches for expired transfers.',
        ),
        numeric.Int(
            'share_transfer_key_length',
            default=16,
            min=8,
            max=255,
            mutable=True,
            help='Number of characters in the key of a transfer. A project needs the key to accept the transfer.',
        ),
    ]
}
