# SPDX-License-Identifier: Apache-2.0
"""Limits on the number of dependents of one resource: ``[limits]`` of the configuration.

The caller counts in the transaction that adds, behind a lock on the parent, so concurrent requests cannot exceed a
limit. A parent that has more than a newer limit allows keeps them: only growth is refused.
"""

from typing import Any

from manila_lite import errors

#: Option -> the name of what it counts, for messages.
COUNTED = {
    'metadata_items': 'metadata key',
    'access_rules': 'access rule',
    'subnets': 'subnet',
    'attached_security_services': 'security service',
    'security_services': 'security service',
    'resource_locks': 'resource lock',
    'schedules': 'schedule',
}


def check(conf: Any, name: str, whose: str, had: int, will: int) -> None:
    """Check that the resource that ``whose`` describes may have ``will`` of the counted items; it has ``had``.

    :raises errors.OverLimit: ``will`` is more than it may have, and more than it has.
    """
    most = conf.limits[name]
    if most >= 0 and will > most and will > had:
        raise errors.OverLimit(
            f'Limit {name} exceeded: {whose} may have {errors.count(most, COUNTED[name])}, has '
            f'{had}, and would have '
            f'{will}.',
            code=f'over_limit_{name}',
        )


def check_one_more(conf: Any, name: str, whose: str, had: int) -> None:
    """Do as ``check`` for one more than it has."""
    check(conf, name, whose, had, had + 1)
