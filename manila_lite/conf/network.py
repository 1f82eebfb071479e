# SPDX-License-Identifier: Apache-2.0
"""Options of networks for share servers."""

from oslo_config import cfg

from manila_lite.conf import numeric

NETWORK: list[cfg.Opt] = [
    cfg.StrOpt(
        'plugin',
        default='standalone',
        help='Entry point of the network plugin: "standalone" reads networks from a file, "neutron" uses Neutron as '
        'configured in [neutron].',
    ),
    numeric.Float(
        'patience',
        default=3600.0,
        min=0.0,
        mutable=True,
        help='Seconds, from its beginning, for which work on a share server (create or delete) waits for an '
        'unreachable network plugin. Then it is tried [operations] max_attempts times.',
    ),
]

STANDALONE: list[cfg.Opt] = [
    cfg.StrOpt(
        'file',
        help="YAML file with the networks of the standalone plugin, in the format of the administrator's guide. "
        'Without a file there are no networks. It is read at each use.',
    )
]

#: Options of a section for another plugin, that of the administrators' network. They replace these two.
INSTEAD: list[cfg.Opt] = [opt for opt in (*NETWORK, *STANDALONE) if opt.name in ('plugin', 'file')]
INSTEAD_OF = ('network', 'standalone_network')


def register_instead(conf: cfg.ConfigOpts, group: str) -> None:
    """Register the options of a network plugin for the section ``group``."""
    conf.register_opts(INSTEAD, group=group)


OPTIONS = {'network': NETWORK, 'standalone_network': STANDALONE}
