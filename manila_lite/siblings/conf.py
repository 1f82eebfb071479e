# SPDX-License-Identifier: Apache-2.0
"""How both siblings reach the share service: keystoneauth's options, in ``[share_service]``.

The options of the login itself (auth_url, username ...) depend on ``auth_type``; keystoneauth registers them when the
connection is made.
"""

import copy
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

#: The group of all of them.
GROUP = 'share_service'

#: What keystoneauth would leave open: a bounded wait, and a second and a third try, with a growing pause between them.
_DEFAULTS: dict[str, tuple[Any, str]] = {
    'timeout': (20, 'Seconds after which a request to the share service counts as not answered.'),
    'connect_retries': (2, 'How often a request is sent once more when the connection was refused or lost.'),
    'status_code_retries': (2, 'How often a request is sent once more when the answer was one of retriable_status_codes.'),
    'retriable_status_codes': (['500', '502', '503', '504'], 'Answers that a second request may mend.'),
    'service_type': ('shared-file-system', 'Type of the share service in the catalog of Keystone; sharev2 is found, too.'),
    'valid_interfaces': (['internal', 'public'], 'In which interfaces of the catalog it is looked for, in this order.'),
}


def _ours(option: cfg.Opt) -> cfg.Opt:
    """Return a copy of an option of keystoneauth, with its help as a sentence and our default."""
    option = copy.copy(option)
    option.help = f'{" ".join((option.help or "").split()).rstrip(".")}.'
    if option.dest in _DEFAULTS:
        option.default, option.help = _DEFAULTS[option.dest]
    return option


SHARE_SERVICE = [_ours(option) for options in (
    loading.get_auth_common_conf_options(), loading.get_session_conf_options(),
    loading.get_adapter_conf_options(include_deprecated=False)) for option in options]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [(GROUP, SHARE_SERVICE)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
