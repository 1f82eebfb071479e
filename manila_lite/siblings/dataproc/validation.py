# SPDX-License-Identifier: Apache-2.0
"""The field ``shares``: its JSON schema, what else must hold, and which shares a node gets. Asks nobody."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from manila_lite import errors
from manila_lite.siblings.dataproc import paths

#: A share as a list of ``shares`` names it; as the specification has it.
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
#: The same where there may be none: null is as an empty list.
NULL_SCHEMA = SCHEMA | {'type': ['array', 'null']}

Shares = Sequence[Mapping[str, Any]]


class InvalidData(errors.Invalid):
    """A value of ``shares`` cannot be used as it is."""

    code = 'INVALID_DATA'


class InvalidReference(errors.Invalid):
    """What is named does not exist for the caller, or is of no use here."""

    code = 'INVALID_REFERENCE'


def normal(shares: Shares | None, where: str = 'shares') -> list[dict[str, str]]:
    """Return the list with every id, every path and every level written out.

    :raises InvalidData: a path where nothing may be mounted, two that are in each other's way, a share named twice.
    """
    found = [_normal(share, f'{where}[{number}]') for number, share in enumerate(shares or ())]
    check(found, where)
    return found


def _normal(share: Mapping[str, Any], where: str) -> dict[str, str]:
    try:
        ident = str(uuid.UUID(share['id']))
    except ValueError:
        raise errors.Invalid(f'{where}.id: {share["id"]!r} is not a UUID.') from None
    given = share.get('path')
    try:
        path = paths.default(ident) if given is None else paths.normal(given)
    except errors.Invalid as bad:
        raise InvalidData(f'{where}.{bad}') from None
    return {'id': ident, 'path': path, 'access_level': share.get('access_level', 'rw')}


def check(shares: Shares, where: str) -> None:
    """A node can have all of these at once.

    :raises InvalidData: a share twice, a path twice, or one path inside another.
    """
    seen: set[str] = set()
    for share in shares:
        if share['id'] in seen:
            raise InvalidData(f'{where}: share {share["id"]} is named twice.')
        seen.add(share['id'])
    found = paths.clash(share['path'] for share in shares)
    if found is not None:
        outer, inner = found
        what = f'the path {outer!r} is used twice' if outer == inner else f'the path {inner!r} is inside {outer!r}'
        raise InvalidData(f'{where}: {what}.')


def effective(cluster: Shares | None, group: Shares | None) -> list[dict[str, Any]]:
    """Return the shares of the nodes of a group: what the cluster says of a share stands instead of what the group says."""
    named = {share['id'] for share in cluster or ()}
    return [*map(dict, cluster or ()), *(dict(share) for share in group or () if share['id'] not in named)]


def check_groups(cluster: Shares | None, groups: Iterable[tuple[str, Shares | None]]) -> None:
    """Every node of every group (name and shares) can have what it gets, the cluster's shares included.

    :raises InvalidData: they are in each other's way; the message names the group.
    """
    for name, group in groups:
        check(effective(cluster, group), f'node group {name}: shares')
