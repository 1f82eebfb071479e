# SPDX-License-Identifier: Apache-2.0
"""Where share servers get their networks."""

from oslo_config import cfg

NETWORK = [
    cfg.StrOpt('plugin', default='standalone',
               help='Entry point of the network plugin: "standalone" knows the networks of a file, "neutron" those of the '
                    'Neutron of [neutron].'),
    cfg.FloatOpt('patience', default=3600.0, min=0.0, mutable=True,
                 help='Seconds that the work of making or removing a share server waits for a network plugin that cannot be '
                      'reached, from its beginning. After that it is tried [operations] max_attempts times.'),
]

STANDALONE = [
    cfg.StrOpt('file', help='YAML file with the networks of the standalone plugin; without one there are none. '
                            'The administrator\'s guide shows how it is written. Read whenever it is needed.'),
]

#: A section that describes another plugin: that for the network of administrators. It takes the place of these two.
INSTEAD = [opt for opt in (*NETWORK, *STANDALONE) if opt.name in ('plugin', 'file')]
INSTEAD_OF = ('network', 'standalone_network')


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('network', NETWORK), ('standalone_network', STANDALONE)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)


def register_instead(conf: cfg.ConfigOpts, group: str) -> None:
    """The section ``group`` may be read as that of a network plugin."""
    conf.register_opts(INSTEAD, group=group)
