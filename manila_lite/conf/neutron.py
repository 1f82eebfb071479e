# SPDX-License-Identifier: Apache-2.0
"""Options of Neutron, for the network plugin of that name: those of keystoneauth, and others.

The options of the login itself (auth_url, username ...) depend on ``auth_type``; keystoneauth registers them when the
plugin is made.
"""

import contextlib
import copy

from keystoneauth1 import loading
from oslo_config import cfg

#: The group of all these options.
GROUP = 'neutron'

#: Seconds after which a request to Neutron counts as not answered; keystoneauth would wait for ever.
TIMEOUT = 20


def _ours(option: cfg.Opt) -> cfg.Opt:
    """Return a copy of an option of keystoneauth, with its help as a sentence and a bounded wait."""
    option = copy.copy(option)
    option.help = f'{" ".join((option.help or "").split()).rstrip(".")}.'
    if option.dest == 'timeout':
        option.default = TIMEOUT
        option.help = 'Seconds after which a request to Neutron without an answer fails.'
    return option


OPTIONS = {
    GROUP: [
        cfg.StrOpt(
            'physical_network',
            help='Physical network of the share servers, for networks with several segments: provider:physical_network in '
            'Neutron.',
        ),
        *(
            _ours(option)
            for options in (
                loading.get_auth_common_conf_options(),
                loading.get_session_conf_options(),
                loading.get_adapter_conf_options(include_deprecated=False),
            )
            for option in options
        ),
    ]
}


def register_login(conf: cfg.ConfigOpts) -> None:
    """Register the option for the kind of login in the section that ``auth_section`` names."""
    section = conf[GROUP].auth_section
    if section:
        with contextlib.suppress(
            cfg.DuplicateOptError
        ):  # another module has registered a login for that section, too
            conf.register_opt(
                next(
                    _ours(option)
                    for option in loading.get_auth_common_conf_options()
                    if option.dest == 'auth_type'
                ),
                group=section,
            )
