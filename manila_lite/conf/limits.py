# SPDX-License-Identifier: Apache-2.0
"""Options of limits: numbers of items of a resource, and lengths in requests. -1: no limit. Quotas are in ``quota.py``."""

from oslo_config import cfg

from manila_lite.conf import numeric


def _limit(name: str, default: int, what: str) -> cfg.IntOpt:
    return numeric.Int(
        name,
        default=default,
        min=-1,
        mutable=True,
        help=f'{what}. -1: no limit. Items over the limit stay, but no more can be added.',
    )


LIMITS: list[cfg.Opt] = [
    _limit(
        'metadata_items',
        128,
        'Maximum number of metadata keys of one share, snapshot, share replica, export location, access rule or subnet. '
        'Raise it for clients that store more keys',
    ),
    _limit(
        'access_rules',
        1000,
        'Maximum number of access rules of one share, and of one snapshot. A backend gets all of them at once: lower it '
        'for a slow backend',
    ),
    _limit(
        'subnets',
        64,
        'Maximum number of subnets of one share network. Each share server has an address in every subnet of its zone',
    ),
    _limit(
        'attached_security_services',
        16,
        'Maximum number of security services of one share network. It has at most one of each type in any case',
    ),
    _limit('security_services', 100, 'Maximum number of security services of one project'),
    _limit(
        'schedules',
        100,
        'Maximum number of schedules of one project. Each run of each is an operation of the schedulers',
    ),
    _limit('resource_locks', 100, 'Maximum number of resource locks on one share or access rule'),
    numeric.Int(
        'filter_length',
        default=4096,
        min=255,
        mutable=True,
        help='Maximum number of characters of one query parameter, name and value together. Longer parameters are '
        'refused before the database compares them. Raise it for clients that filter by longer metadata.',
    ),
    numeric.Int(
        'query_length',
        default=16384,
        min=1024,
        mutable=True,
        help='Maximum number of characters of the whole query of a URL, as sent.',
    ),
]

OPTIONS = {'limits': LIMITS}
