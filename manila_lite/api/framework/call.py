# SPDX-License-Identifier: Apache-2.0
"""A row of the contract: one call of the API, described as data."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.bodies import Body
from manila_lite.api.framework.fields import Always, Answer, Field, Many, One, Plain, View

#: Sorting and paging of every list.
PAGE = (
    Field('limit', {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT}, parse=shapes.integer),
    Field('offset', {'type': 'integer', 'minimum': 0, 'maximum': 2**63 - 1}, parse=shapes.position),
    Field('marker', {'type': 'string'}),
    Field('sort_key', {'type': 'string'}),
    Field('sort_dir', {'type': 'string', 'enum': ['asc', 'desc']}, parse=shapes.one_of('asc', 'desc')),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """One call: ``method path`` calls ``call(request)`` and shows the result as ``view``, with status ``ok``.

    ``action``: the call is ``POST path`` with this one key in the body; below 2.7 the key is ``os-`` + action unless
    ``old_action`` says otherwise. ``old_path``: the path below 2.7. ``states`` maps exception classes to the status
    they have in this call, if it is not the usual one. ``once``: a request repeated with the same ``Idempotency-Key``
    gets the same answer; all its work is in transactions of the database. ``or_ok``: the status, without a body,
    if the call returns False: there was nothing to do. ``strict``: unknown query parameters are refused. ``headers``:
    headers of our own that a successful answer has. ``courtesy``: a value of the action that clients send although nobody asked
    for it, and a second rule that allows it; the call ignores it then. ``streams``: the answer can also be a stream of events.
    ``resource``: the file that has the row.
    """

    method: str
    path: str
    call: Callable[[Any], Any]
    policy: str
    view: Answer | None = None
    ok: int = 200
    since: str = '2.0'
    until: str | None = None
    action: str | None = None
    old_action: str | None = None
    old_path: str | None = None
    body: Body | None = None
    query: tuple[Field, ...] = ()
    experimental_until: str | None = None
    states: tuple[tuple[type[errors.ManilaLiteError], int], ...] = ()
    once: bool = False
    or_ok: int | None = None
    strict: bool = False
    headers: tuple[str, ...] = ()
    courtesy: tuple[Any, str] | None = None
    streams: bool = False
    resource: str = ''

    def lives(self, version: int) -> bool:
        """Say whether the call exists at a version."""
        return versions.minor(self.since) <= version and (
            self.until is None or version <= versions.minor(self.until)
        )

    def path_at(self, version: int) -> str:
        """Return the path at a version."""
        return self.old_path if self.old_path and version < versions.PLAIN_NAMES else self.path

    def action_at(self, version: int) -> str | None:
        """Return the key of the action at a version."""
        if (
            self.action
            and version < versions.PLAIN_NAMES
            and versions.minor(self.since) < versions.PLAIN_NAMES
        ):
            return self.old_action or f'os-{self.action}'
        return self.action

    def body_at(self, version: int) -> Body | None:
        """Return the body at a version, under the key it has there."""
        if self.action is None:
            return self.body
        return (self.body or Body(self.action, optional=True, strict=True)).named(
            self.action_at(version) or self.action
        )

    def rules(self, document: Any) -> tuple[str, ...]:
        """Return the rules that allow a request with this body; one is enough."""
        if self.courtesy and isinstance(document, dict) and document.get(self.action) == self.courtesy[0]:
            return self.policy, self.courtesy[1]
        return (self.policy,)

    @property
    def name(self) -> str:
        """A name for documents and messages, such as ``shares.create``."""
        return '.'.join(filter(None, (self.resource, self.call.__name__)))


#: What the rows of the contract are made of, for the modules that have them.
__all__ = ['PAGE', 'Always', 'Body', 'Call', 'Field', 'Many', 'One', 'Plain', 'View']
