# SPDX-License-Identifier: Apache-2.0
"""Options of a host that copies shares in migrations. Names of Manila's data service mean the same here."""

from oslo_config import cfg, types

from manila_lite.conf import numeric

OPTIONS = {
    'DEFAULT': [
        cfg.ListOpt(
            'data_node_access_ips',
            item_type=types.IPAddress(),
            default=[],
            mutable=True,
            help='Client addresses that backends admit while this host copies a share from one to the other. Set it where '
            'this host mounts shares through address translation. Default: the address of this host on its route to '
            'the server of the share.',
        ),
        cfg.StrOpt(
            'data_node_access_admin_user',
            mutable=True,
            help='User as which this host mounts CIFS shares for a migration. The file servers of both sides must know it. '
            'Its password belongs into data_node_mount_options, or into a file that these name with credentials=.',
        ),
        cfg.Opt(
            'data_node_mount_options',
            type=types.Dict(types.String(quotes=True)),
            mutable=True,
            secret=True,
            default={'nfs': 'retry=0,soft,timeo=300'},
            sample_default='nfs:"retry=0,soft,timeo=300"',
            help='Mount options of this host for a migration, by protocol (nfs, cifs), for instance nfs:"vers=4.2,soft". ro or '
            'rw is added, and nosuid, nodev and noexec. A password for CIFS is never an argument of a program.',
        ),
        cfg.StrOpt(
            'mount_tmp_location',
            help='Directory for the mount points of migrations. Only root may be able to write to it. Default: state_path.',
        ),
        cfg.ListOpt(
            'data_node_local_exports',
            default=[],
            mutable=True,
            help='Exports that this very host serves, each as beginning=directory, for instance '
            '192.0.2.7:/shares=/var/lib/manila_lite/fast/pool/shares, or //192.0.2.7=DIRECTORY for CIFS. A '
            'migration reads and writes the directory itself: faster than NFS, with extended attributes, and without '
            'the deadlocks of a host that mounts its own exports and runs short of memory.',
        ),
        numeric.Int(
            'data_access_wait_access_rules_timeout',
            default=180,
            min=1,
            max=numeric.WEEK,
            mutable=True,
            help='Seconds within which a backend must admit this host for a migration. After that the migration fails.',
        ),
        cfg.BoolOpt(
            'check_hash',
            default=False,
            mutable=True,
            help='Compare the checksums of all files at the end of a migration by this host, so that the cut-over takes as '
            'long as reading both sides. If false, kinds, sizes, times, modes and owners of all files are compared, '
            'and the checksums of data_check_sample.',
        ),
        numeric.Int(
            'data_check_sample',
            default=100,
            min=0,
            mutable=True,
            help='Number of files, chosen at random, whose checksums are compared at the end of a migration by this host.',
        ),
        numeric.Float(
            'data_copy_bandwidth_limit',
            default=0.0,
            min=0.0,
            mutable=True,
            help='Maximum MiB a second for each migration that this host copies. 0: no limit.',
        ),
        numeric.Float(
            'data_copy_apparent_ratio',
            default=64.0,
            min=0.0,
            mutable=True,
            help='Maximum apparent size of all files of a share in a migration by this host, as a multiple of '
            'the size of '
            'the share. A sparse file can be larger than any disk, and a copy reads its holes. 0: no limit.',
        ),
        numeric.Float(
            'data_copy_short_pass',
            default=10.0,
            min=0.0,
            mutable=True,
            help='Seconds. While clients may write, the copy is repeated until one pass takes no longer than this. The '
            'cut-over takes about as long as that pass.',
        ),
        numeric.Int(
            'data_copy_passes',
            default=10,
            min=1,
            mutable=True,
            help='Number of passes after which the copy of a share that clients change faster waits for the operator as it '
            'is.',
        ),
    ]
}
