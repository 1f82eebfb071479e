# SPDX-License-Identifier: Apache-2.0
"""How many things one thing may have: the numbers are ``[limits]`` of the configuration.

Who adds counts in the transaction that adds, behind a lock on the one that is added to: many at once do not get past a limit.
What has more than it may have, because the limit came later, keeps it: nothing but growth is refused.
"""

from typing import Any

from manila_lite import errors

#: Option -> what it counts, for people.
COUNTED = {
    'metadata_items': 'metadata keys',
    'access_rules': 'access rules',
    'subnets': 'subnets',
    'attached_security_services': 'security services',
    'security_services': 'security services',
    'resource_locks': 'resource locks',
}


def check(conf: Any, name: str, whose: str, had: int, will: int) -> None:
    """What ``whose`` names may have ``will`` of what the option ``name`` counts; it has ``had``.

    :raises errors.OverLimit: these are more than it may have, and more than it has.
    """
    most = conf.limits[name]
    if most >= 0 and will > most and will > had:
        raise errors.OverLimit(f'Limit {name} exceeded: {whose} may have {most} {COUNTED[name]}, has {had}, and would have '
                               f'{will}.', code=f'over_limit_{name}')


def one_more(conf: Any, name: str, whose: str, had: int) -> None:
    """As ``check``, of one more than it has."""
    check(conf, name, whose, had, had + 1)
