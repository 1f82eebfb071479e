# SPDX-License-Identifier: Apache-2.0
"""The bus. ``transport_url`` and the rest of oslo.messaging's options stand in their own groups."""

from oslo_config import cfg

RPC = [
    cfg.FloatOpt('drain_timeout', default=5.0, help='Seconds to wait at stop for wake-ups that are not sent yet.'),
]

UPGRADE_LEVELS = [
    cfg.StrOpt('operations', choices=[
        ('auto', 'the newest that this release knows'), ('1.0', 'what the first release understands'),
        ('1.1', 'with lanes')], default='auto',
        help='Version in which wake-ups for durable work are sent. While old and new processes run side by side, set '
             'the version of the old ones. A wake-up that is not understood only costs time: the work is found by '
             'polling.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('rpc', RPC), ('upgrade_levels', UPGRADE_LEVELS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)

