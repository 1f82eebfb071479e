# SPDX-License-Identifier: Apache-2.0
"""Options of destinations for share backups: a section for each type of backup, named by the operator."""

from oslo_config import cfg

from manila_lite.conf import numeric

DEFAULT: list[cfg.Opt] = [
    cfg.ListOpt(
        'enabled_backup_types',
        default=[],
        help='Types of backup for users. The first is the default type. Each has a section of the same name. Set the '
        'same types for the API and the share managers. Without a type there are no backups.',
    )
]

#: Registered in the section of every type of backup.
TYPE: list[cfg.Opt] = [
    cfg.StrOpt(
        'backup_mount_export',
        default='',
        help='Export that holds the backups of this type, in the form that mount takes, for instance '
        '"192.0.2.9:/backups".',
    ),
    cfg.StrOpt('backup_mount_proto', default='nfs', help='File system type for mount.'),
    cfg.StrOpt('backup_mount_options', default='', secret=True, help='Mount options, separated by commas.'),
    numeric.Float(
        'backup_apparent_ratio',
        default=64.0,
        min=0.0,
        help='Maximum apparent size of all files of a share, as a multiple of the size of the share. A sparse file '
        'can be larger than any disk, and a copy reads its holes at some 150 MB a second. Raise it for shares '
        'with large sparse disk images. 0: no limit, so any user can keep a copy busy for years.',
    ),
    numeric.Float(
        'backup_continue_update_interval',
        default=10.0,
        min=0.05,
        max=300.0,
        help='Maximum seconds between two progress checks of a backup or a restore. The second check comes after a '
        'second, and each later pause is twice as long as the one before, up to this value.',
    ),
]


def register_type(conf: cfg.ConfigOpts, name: str) -> None:
    """Register the options of a type of backup for the section ``name``."""
    conf.register_opts(TYPE, group=name)


OPTIONS = {'DEFAULT': DEFAULT}
