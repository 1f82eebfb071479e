# SPDX-License-Identifier: Apache-2.0
"""How siblings reach other services: keystoneauth's options, in ``[share_service]`` and ``[compute_service]``.

The options of the login itself (auth_url, username ...) depend on ``auth_type``; keystoneauth registers them when the
connection is made.
"""

import copy
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

#: The group of all of them; and where the data-processing service finds the compute service, if that makes its nodes.
GROUP, COMPUTE_GROUP = 'share_service', 'compute_service'


def _options(name: str, service_type: str, found: str = '') -> list[cfg.Opt]:
    """Return how a service is reached: keystoneauth's options, and where that would leave it open, a bounded wait, and a second
    and a third try, with a growing pause between them.
    """
    ours: dict[str, tuple[Any, str]] = {
        'timeout': (20, f'Seconds after which a request to the {name} counts as not answered.'),
        'connect_retries': (2, 'How often a request is sent once more when the connection was refused or lost.'),
        'status_code_retries': (2, 'How often a request is sent once more when the answer was one of retriable_status_codes.'),
        'retriable_status_codes': (['500', '502', '503', '504'], 'Answers that a second request may mend.'),
        'service_type': (service_type, f'Type of the {name} in the catalog of Keystone{found}.'),
        'valid_interfaces': (['internal', 'public'], 'In which interfaces of the catalog it is looked for, in this order.'),
    }
    return [_with(option, *ours.get(option.dest, (option.default, None))) for options in (
        loading.get_auth_common_conf_options(), loading.get_session_conf_options(),
        loading.get_adapter_conf_options(include_deprecated=False)) for option in options]


def _with(option: cfg.Opt, default: Any, text: str | None) -> cfg.Opt:
    """Return a copy of an option of keystoneauth, with its help as a sentence and our default."""
    option = copy.copy(option)
    option.default, option.help = default, text or f'{" ".join((option.help or "").split()).rstrip(".")}.'
    return option


SHARE_SERVICE = _options('share service', 'shared-file-system', '; sharev2 is found, too')
COMPUTE_SERVICE = _options('compute service', 'compute')


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [(GROUP, SHARE_SERVICE)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
