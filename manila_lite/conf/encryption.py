# SPDX-License-Identifier: Apache-2.0
"""Keys of encrypted shares. Where they are looked up is castellan's section ``key_manager``."""

from oslo_config import cfg

ENCRYPTION = [
    cfg.BoolOpt('check_keys', default=False,
                help='Whether the key that a request for a share names is looked up in the key manager of the section '
                     'key_manager, with the rights of whoever asks. It needs the package castellan.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('encryption', ENCRYPTION)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    conf.register_opts(ENCRYPTION, group='encryption')
