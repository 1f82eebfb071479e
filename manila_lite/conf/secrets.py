# SPDX-License-Identifier: Apache-2.0
"""Keys that secrets in the database are encrypted with: passwords of security services, keys of access rules."""

from oslo_config import cfg

SECRETS = [
    cfg.StrOpt('key_file', default='$state_path/secrets.key',
               help='File with the keys, one on a line; the first one encrypts, all of them decrypt. "manila-manage db sync" '
                    'makes it where no secret is encrypted yet. It has to be the same on all hosts that run an API or a share '
                    'manager, and to be kept: without it the secrets are lost. A change of the file is seen at once.'),
    cfg.ListOpt('key_ids', default=[],
                help='Ids of keys of 256 bits in the key manager of the section key_manager, if they shall be there and not '
                     'in a file. They come before those of key_file, which may be gone once nothing is encrypted with '
                     'them. Needs the package castellan, and auth_type of that section with what belongs to it, unless the '
                     'key manager knows the service otherwise.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('secrets', SECRETS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    conf.register_opts(SECRETS, group='secrets')
