# SPDX-License-Identifier: Apache-2.0
"""The bus. ``transport_url`` and the rest of oslo.messaging's options stand in their own groups."""

from oslo_config import cfg

RPC = [
    cfg.FloatOpt('drain_timeout', default=5.0, help='Seconds to wait at stop for wake-ups that are not sent yet.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('rpc', RPC)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)

