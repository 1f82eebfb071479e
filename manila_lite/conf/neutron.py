# SPDX-License-Identifier: Apache-2.0
"""Neutron, for the network plugin of that name: keystoneauth's options for it, and ours.

The options of the login itself (auth_url, username ...) depend on ``auth_type``; keystoneauth registers them when the
plugin is made.
"""

import contextlib
import copy

from keystoneauth1 import loading
from oslo_config import cfg

#: The group of all of them.
GROUP = 'neutron'

#: Seconds after which a request to Neutron counts as not answered; keystoneauth would wait for ever.
TIMEOUT = 20


def _ours(option: cfg.Opt) -> cfg.Opt:
    """Return a copy of an option of keystoneauth, with its help as a sentence and a bounded wait."""
    option = copy.copy(option)
    option.help = f'{" ".join((option.help or "").split()).rstrip(".")}.'
    if option.dest == 'timeout':
        option.default = TIMEOUT
        option.help = 'Seconds after which a request to Neutron counts as not answered.'
    return option


NEUTRON = [
    cfg.StrOpt('physical_network', help='In networks of several segments: the physical network that the file servers are '
                                        'in. Neutron calls it provider:physical_network.'),
    *(_ours(option) for options in (loading.get_auth_common_conf_options(), loading.get_session_conf_options(),
                                    loading.get_adapter_conf_options(include_deprecated=False)) for option in options),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [(GROUP, NEUTRON)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)


def register_login(conf: cfg.ConfigOpts) -> None:
    """The kind of login can be read from the section that ``auth_section`` names."""
    section = conf[GROUP].auth_section
    if section:
        with contextlib.suppress(cfg.DuplicateOptError):    # another part of the product logs in there too
            conf.register_opt(next(_ours(option) for option in loading.get_auth_common_conf_options()
                                   if option.dest == 'auth_type'), group=section)
