# SPDX-License-Identifier: Apache-2.0
"""Options of keys that encrypt secrets in the database: passwords of security services, keys of access rules."""

from oslo_config import cfg

OPTIONS = {
    'secrets': [
        cfg.StrOpt(
            'key_file',
            default='$state_path/secrets.key',
            help='File with the keys for secrets in the database, one on each line. The first key encrypts, all keys '
            'decrypt. "manila-manage db sync" creates the file if no secret is encrypted yet. It must be the same on '
            'all hosts with an API or a share manager. Keep a copy: without it the secrets are lost. A change of the '
            'file takes effect at once.',
        ),
        cfg.ListOpt(
            'key_ids',
            default=[],
            help='Ids of 256-bit keys in the key manager of the section key_manager, as an alternative to keys in a file. '
            'They precede the keys of key_file. Remove key_file only when no secret is encrypted with its keys. '
            'Needs the package castellan, and in that section auth_type with its options, unless the key manager '
            'knows the service by other means.',
        ),
    ]
}
