# SPDX-License-Identifier: Apache-2.0
"""Requests and their expected answers as data: building blocks of tables that are run against the service."""

import dataclasses
import re
from typing import Any

#: gophercloud reads six digits of a second, and no time zone.
TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}')
UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
VERSION = re.compile(r'\d+\.\d+')
BOTH = {'OpenStack-API-Version': 'shared-file-system {version}'}


@dataclasses.dataclass(frozen=True)
class Ask:
    """One request. ``$name`` in path and body is replaced by a value that ``keeps`` of an earlier request kept.

    * ``status``: one, or any of several.
    * ``holds``: by path in the answer (``share.id``) the value, a pattern for all of it, a type, or ``ABSENT``.
    * ``says``: patterns for headers of the answer.
    * ``through``: the request is repeated while the first path of ``holds`` has one of these values; others are errors.
    """

    method: str
    path: str
    status: int | tuple[int, ...] = 200
    body: Any = None
    version: str | None = '2.37'
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    holds: dict[str, Any] = dataclasses.field(default_factory=dict)
    says: dict[str, str] = dataclasses.field(default_factory=dict)
    keeps: dict[str, str] = dataclasses.field(default_factory=dict)
    through: tuple[str, ...] = ()
    roles: str = 'member,reader'
    prefix: str = '/v2'


@dataclasses.dataclass(frozen=True)
class Row:
    """A rule that clients depend on. ``elsewhere``: module and name of the test that shows it, if requests cannot."""

    rule: str
    clients: str
    asks: tuple[Ask, ...] = ()
    elsewhere: str = ''

    @property
    def name(self) -> str:
        """The rule as an identifier."""
        return re.sub(r'\W+', '_', self.rule).strip('_').lower()


ABSENT = object()
ADMIN = 'admin,member,reader'


def get(path: str, *holds: tuple[str, Any], **more: Any) -> Ask:
    """Return a GET request."""
    return Ask('GET', path, holds=dict(holds), **more)


def act(
    action: str,
    body: Any,
    status: int | tuple[int, ...],
    *holds: tuple[str, Any],
    of: str = '/shares/$share',
    **more: Any,
) -> Ask:
    """Return a request for an action, by default of the share."""
    return Ask('POST', f'{of}/action', status, {action: body}, holds=dict(holds), **more)


def wait(path: str, where: str, until: Any, *through: str, **more: Any) -> Ask:
    """Return a GET request that is repeated until ``where`` has the value ``until``; with ``ABSENT`` it may end as 404."""
    return Ask(
        'GET', path, (200, 404) if until is ABSENT else 200, holds={where: until}, through=through, **more
    )


def gone(path: str, resource_type: str, *through: str, **more: Any) -> Ask:
    """Return a GET request that is repeated until the answer is 404."""
    return wait(path, f'{resource_type}.status', ABSENT, 'deleting', *through, **more)
