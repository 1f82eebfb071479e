# SPDX-License-Identifier: Apache-2.0
"""The database. oslo.db's own options stand beside these in the same group."""

from oslo_config import cfg
from oslo_db import options as oslo_db_options

DATABASE = [
    cfg.BoolOpt('sqlite_synchronous_full', default=True,
                help='On SQLite: an answered request survives a power cut (FULL), at two to three times the cost of a '
                     'commit. Off, it survives a crash of the process only.'),
    cfg.IntOpt('sqlite_pool_size', default=8, min=1, help='Connections kept open to a SQLite file.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('database', DATABASE)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Ours and oslo.db's options are registered on ``conf``."""
    conf.register_opts(DATABASE, group='database')
    oslo_db_options.set_defaults(conf)
