# SPDX-License-Identifier: Apache-2.0
"""Options of the database. oslo.db's own options are in the same group."""

from oslo_config import cfg

from manila_lite.conf import numeric

OPTIONS = {
    'database': [
        cfg.BoolOpt(
            'sqlite_synchronous_full',
            default=True,
            help='On SQLite: write every commit to the disk (FULL), so that an answered request survives a power failure. '
            'A commit then costs two to three times as much. If false, it survives a crash of the process only.',
        ),
        numeric.Int(
            'sqlite_pool_size',
            default=8,
            min=1,
            max=numeric.THREADS,
            help='Number of connections to a SQLite file that stay open.',
        ),
    ]
}
