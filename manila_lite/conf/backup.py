# SPDX-License-Identifier: Apache-2.0
"""Where backups of shares go: a section for each type of backup, named by the operator."""

from oslo_config import cfg

DEFAULT = [
    cfg.ListOpt('enabled_backup_types', default=[],
                help='Types of backup that users may ask for; the first is taken where they name none. Each has a section of '
                     'its own. The API and the share managers need the same. Without any there are no backups.'),
]

#: Registered in the section of every type of backup.
TYPE = [
    cfg.StrOpt('backup_mount_export', default='', help='The export that backups of this type are kept in, as mount wants it, '
                                                       'for instance "192.0.2.9:/backups".'),
    cfg.StrOpt('backup_mount_proto', default='nfs', help='Type of file system that mount is given.'),
    cfg.StrOpt('backup_mount_options', default='', secret=True, help='Options that mount is given, separated by commas.'),
    cfg.FloatOpt('backup_apparent_ratio', default=64.0, min=0.0,
                 help='How many times the size of its share all files of a share may say that they hold: a sparse file can be '
                      'larger than any disk, and a copy reads its holes, some 150 MB in a second. Raise it for shares with '
                      'large sparse images of disks. 0: no limit, so that any user can keep a copy busy for years.'),
    cfg.FloatOpt('backup_continue_update_interval', default=10.0, min=0.05, max=300.0,
                 help='Seconds between looks at how far a backup or a restore is.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group; the group of a type is named by the operator."""
    return [('DEFAULT', DEFAULT), ('backup_type_example', TYPE)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options that name the types are registered on ``conf``; types follow when they are read."""
    conf.register_opts(DEFAULT)


def register_type(conf: cfg.ConfigOpts, name: str) -> None:
    """The section ``name`` may be read as a type of backup."""
    conf.register_opts(TYPE, group=name)
