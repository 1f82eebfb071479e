# SPDX-License-Identifier: Apache-2.0
"""Options for the connections of siblings to other services: keystoneauth's, in ``[share_service]`` and ``[compute_service]``.

The options of the login itself (auth_url, username ...) depend on ``auth_type``; keystoneauth registers them when the
connection is made.
"""

import copy
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

#: Groups of these options: for the share service, and for the compute service where that makes the data-processing nodes.
GROUP, COMPUTE_GROUP = 'share_service', 'compute_service'


def _options(name: str, service_type: str, other_types: str = '') -> list[cfg.Opt]:
    """Return the options for the connection to a service: keystoneauth's, and in place of its open defaults a bounded
    wait and two retries with a growing pause.
    """
    ours: dict[str, tuple[Any, str]] = {
        'timeout': (20, f'Seconds after which a request to the {name} without an answer fails.'),
        'connect_retries': (2, 'Number of further tries after a refused or lost connection.'),
        'status_code_retries': (
            2,
            'Number of further tries after an answer with one of retriable_status_codes.',
        ),
        'retriable_status_codes': (
            ['500', '502', '503', '504'],
            'HTTP status codes after which a request is sent again.',
        ),
        'service_type': (service_type, f'Type of the {name} in the catalog of Keystone{other_types}.'),
        'valid_interfaces': (
            ['internal', 'public'],
            'Interfaces of the catalog for the search, in this order.',
        ),
    }
    return [
        _with(option, *ours.get(option.dest, (option.default, None)))
        for options in (
            loading.get_auth_common_conf_options(),
            loading.get_session_conf_options(),
            loading.get_adapter_conf_options(include_deprecated=False),
        )
        for option in options
    ]


def _with(option: cfg.Opt, default: Any, text: str | None) -> cfg.Opt:
    """Return a copy of an option of keystoneauth, with its help as a sentence and our default."""
    option = copy.copy(option)
    option.default, option.help = default, text or f'{" ".join((option.help or "").split()).rstrip(".")}.'
    return option


SHARE_SERVICE = _options('share service', 'shared-file-system', ', or sharev2')
COMPUTE_SERVICE = _options('compute service', 'compute')


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [(GROUP, SHARE_SERVICE)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this file on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
