# SPDX-License-Identifier: Apache-2.0
"""Options of keys of encrypted shares. castellan's section ``key_manager`` configures the key manager."""

from oslo_config import cfg

ENCRYPTION: list[cfg.Opt] = [
    cfg.BoolOpt(
        'check_keys',
        sample_default='<true if there is a section key_manager, barbican or vault>',
        help='Look up the key of a request for an encrypted share in the key manager, with the rights of the caller. '
        'The section key_manager configures it. Needs the package castellan.',
    )
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('encryption', ENCRYPTION)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of this module on ``conf``."""
    conf.register_opts(ENCRYPTION, group='encryption')
