# SPDX-License-Identifier: Apache-2.0
"""Where share servers get their networks."""

from oslo_config import cfg

NETWORK = [
    cfg.StrOpt('plugin', default='standalone',
               help='Entry point of the network plugin: "standalone" knows the networks of a file.'),
]

STANDALONE = [
    cfg.StrOpt('file', help='YAML file with the networks of the standalone plugin; without one there are none. '
                            'The administrator\'s guide shows how it is written. Read whenever it is needed.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('network', NETWORK), ('standalone_network', STANDALONE)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
