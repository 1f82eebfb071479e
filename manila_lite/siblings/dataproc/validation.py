# SPDX-License-Identifier: Apache-2.0
"""The field ``shares``: its JSON schema, its other rules, and the shares of each node. Sends no request."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from manila_lite import errors
from manila_lite.siblings.dataproc import paths

#: A share in a list of ``shares``, as in the specification.
ITEM = {
    'type': 'object',
    'properties': {
        'id': {'type': 'string', 'format': 'uuid'},
        'path': {'type': ['string', 'null']},
        'access_level': {'type': ['string', 'null'], 'enum': ['rw', 'ro'], 'default': 'rw'},
    },
    'additionalProperties': False,
    'required': ['id'],
}
SCHEMA = {'type': 'array', 'items': ITEM, 'maxItems': 256}
#: The same where null is allowed, which means an empty list.
NULL_SCHEMA = SCHEMA | {'type': ['array', 'null']}

Shares = Sequence[Mapping[str, Any]]


class InvalidData(errors.Invalid):
    """A value of ``shares`` cannot be used as it is."""

    code = 'INVALID_DATA'


class InvalidReference(errors.Invalid):
    """A named resource does not exist for the caller, or cannot be used here."""

    code = 'INVALID_REFERENCE'


def normal(shares: Shares | None, where: str = 'shares') -> list[dict[str, str]]:
    """Return the list with every id, path and level in full.

    :raises InvalidData: nothing may be mounted at a path, two paths are in conflict, or a share is named twice.
    """
    normalized = [_normal(share, f'{where}[{number}]') for number, share in enumerate(shares or ())]
    check(normalized, where)
    return normalized


def _normal(share: Mapping[str, Any], where: str) -> dict[str, str]:
    try:
        share_id = str(uuid.UUID(share['id']))
    except ValueError:
        raise errors.Invalid(f'{where}.id: {share["id"]!r} is not a UUID.') from None
    given = share.get('path')
    try:
        path = paths.default(share_id) if given is None else paths.normal(given)
    except errors.Invalid as bad:
        raise InvalidData(f'{where}.{bad}') from None
    return {'id': share_id, 'path': path, 'access_level': share.get('access_level', 'rw')}


def check(shares: Shares, where: str) -> None:
    """Check that a node can have all of these shares at once.

    :raises InvalidData: a share twice, a path twice, or one path inside another.
    """
    seen: set[str] = set()
    for share in shares:
        if share['id'] in seen:
            raise InvalidData(f'{where}: share {share["id"]} is named twice.')
        seen.add(share['id'])
    clash = paths.clash(share['path'] for share in shares)
    if clash is not None:
        outer, inner = clash
        what = (
            f'the path {outer!r} is used twice'
            if outer == inner
            else f'the path {inner!r} is inside {outer!r}'
        )
        raise InvalidData(f'{where}: {what}.')


def effective(cluster: Shares | None, group: Shares | None) -> list[dict[str, Any]]:
    """Return the shares of the nodes of a group: where cluster and group name the same share, the cluster's entry counts."""
    named = {share['id'] for share in cluster or ()}
    return [*map(dict, cluster or ()), *(dict(share) for share in group or () if share['id'] not in named)]


def check_groups(cluster: Shares | None, groups: Iterable[tuple[str, Shares | None]]) -> None:
    """Check that every node of every group (name and shares) can have its shares, those of the cluster included.

    :raises InvalidData: the shares are in conflict; the message names the group.
    """
    for name, group in groups:
        check(effective(cluster, group), f'node group {name}: shares')
