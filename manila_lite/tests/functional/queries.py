# SPDX-License-Identifier: Apache-2.0
"""Queries by which a list could show another project's resources."""

import json
import urllib.parse

from manila_lite.api import versions
from manila_lite.api.framework import fields
from manila_lite.tests.functional import walking

#: Filters that ask for the resources of all projects.
EVERYBODY = (
    'all_tenants=1&',
    'all_projects=true&',
    'all_tenants=1&project_id=first&',
    'project_id=first&',
    'is_public=None&',
    'is_public=true&',
    'is_soft_deleted=true&',
    'sort_key=project_id&',
    'limit=1000&offset=0&',
)
#: Number of values of a field, of those that rows have.
_MOST = 4
_NOT_IDS = ('limit', 'offset', 'sort_dir', 'all_tenants')


def of(op, values, rows):
    """Yield the queries for a list: each of its filters has values of another project that may stand there.

    ``values``: the ids of its world. ``rows``: the rows that it sees in the list; of each field a few values are tried.
    """
    yield from EVERYBODY
    for field in fields.fields_at(op.query, versions.MAX):
        shown = {str(row[field.name]) for row in rows if isinstance(row.get(field.name), str | int)}
        for value in dict.fromkeys(
            [*_wanted(field.name, values), *map(urllib.parse.quote, sorted(shown)[:_MOST])]
        ):
            yield f'{field.name}={value}'


def _wanted(name, values):
    """Return the values to try for a filter."""
    plain = name.rstrip('~')
    resource_id = walking.known(values, plain)
    if resource_id or plain in ('id', 'marker') or plain.endswith('_id'):
        return [resource_id] if resource_id else [values['share_id'], values['message_id']]
    if plain in ('metadata', 'extra_specs'):
        return [json.dumps({'key': walking.MARK})]
    return [] if plain in _NOT_IDS else [walking.MARK, '%25']
