# SPDX-License-Identifier: Apache-2.0
"""Options of keys of encrypted shares. castellan's section ``key_manager`` configures the key manager."""

from oslo_config import cfg

OPTIONS = {
    'encryption': [
        cfg.BoolOpt(
            'check_keys',
            sample_default='<true if there is a section key_manager, barbican or vault>',
            help='Look up the key of a request for an encrypted share in the key manager, with the rights of the caller. '
            'The section key_manager configures it. Needs the package castellan.',
        )
    ]
}
