# SPDX-License-Identifier: Apache-2.0
"""How many things one thing may have, and how long what a caller asks may be. -1: no limit. Quotas are in ``quota.py``."""

from oslo_config import cfg


def _limit(name: str, default: int, what: str) -> cfg.IntOpt:
    return cfg.IntOpt(name, default=default, min=-1, mutable=True, help=f'{what}; -1 for no limit. What has more already '
                      'keeps it, and gets no more.')


LIMITS = [
    _limit('metadata_items', 128, 'Metadata keys of one share, snapshot, share replica, export location, access rule or '
                                  'subnet. Raise it for clients that keep more there'),
    _limit('access_rules', 1000, 'Access rules of one share, and of one snapshot. Backends are told of all of them at once: '
                                 'lower it if yours takes long for so many'),
    _limit('subnets', 64, 'Subnets of one share network. Each share server in it has an address in every one of a zone'),
    _limit('attached_security_services', 16, 'Security services that one share network uses. There is one of each type at '
                                             'most in any case'),
    _limit('security_services', 100, 'Security services of one project'),
    _limit('resource_locks', 100, 'Resource locks on one share or access rule'),
    cfg.IntOpt('filter_length', default=4096, min=255, mutable=True,
               help='Characters of one query parameter, name and value. Longer ones are refused before a database has to '
                    'compare anything with them. Raise it if clients filter by longer metadata.'),
    cfg.IntOpt('query_length', default=16384, min=1024, mutable=True,
               help='Characters of the whole query of a URL, as they are sent.'),
]


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group."""
    return [('limits', LIMITS)]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """The options of this file are registered on ``conf``."""
    for group, opts in list_opts():
        conf.register_opts(opts, group=group)
