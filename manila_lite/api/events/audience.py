# SPDX-License-Identifier: Apache-2.0
"""Audiences of events. Callers with the same view, in the same form, are one audience: each event is rendered once for it."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite import context
from manila_lite.api import versions
from manila_lite.api.events.records import OPERATION, POOL, SERVICE, STATUS, USAGE, Record
from manila_lite.api.request import Request
from manila_lite.api.v2 import operations as operation_views
from manila_lite.api.v2 import pools as pool_views
from manila_lite.api.v2 import services as service_views
from manila_lite.db.queries.operation_views import OWN_TYPES

#: The rule of the list that has each type of resource: whoever may not list it gets no event of it.
_LISTED = {
    'share': 'share:get_all',
    'snapshot': 'share_snapshot:get_all_snapshots',
    'share_replica': 'share_replica:get_all',
    'share_network': 'share_network:index',
    'share_server': 'share_server:index',
    'share_group': 'share_group:get_all',
    'share_group_snapshot': 'share_group_snapshot:get_all',
    'share_backup': 'share_backup:get_all',
}
#: The rule of the events of each list that belongs to no project.
_SEEN = {POOL: 'scheduler_stats:pools:detail', SERVICE: 'service:index'}
#: The rule of the list that tells how full shares are.
_USAGE = 'share_usage:index'
#: Every rule that decides on what a caller sees.
_RULES = frozenset(
    (
        'operation:index',
        _USAGE,
        *_LISTED.values(),
        *_SEEN.values(),
        *(
            field.rule
            for view in (operation_views.OPERATION, pool_views.DETAIL, service_views.SERVICE)
            for field in view.fields
            if field.rule
        ),
    )
)


@dataclasses.dataclass(frozen=True)
class Audience:
    """Callers of one project, or of all (``everybody``), to whom policy allows the same.

    It stands for their requests in views: ``version``, ``may``, ``linked`` and ``ctx`` are as those of ``Request``.
    """

    project_id: str
    everybody: bool
    is_admin: bool
    allowed: frozenset[str]
    version: int
    links: tuple[str, str]
    ctx: Any = dataclasses.field(compare=False, repr=False)

    @classmethod
    def of(cls, req: Request, *, everybody: bool) -> 'Audience':
        """Return the audience of a request. ``everybody``: it asks for all projects, which counts if policy allows it."""
        own, bookmark = (link['href'] for link in req.linked('operations')(''))
        return cls(
            req.ctx.project_id or '',
            everybody and req.may('events:list_all_projects'),
            bool(req.ctx.is_admin),
            frozenset(rule for rule in _RULES if req.may(rule)),
            req.version,
            (own, bookmark),
            req.ctx.services,
        )

    @classmethod
    def operator(cls, services: context.Services) -> 'Audience':
        """Return the audience of a command that reads the database itself."""
        return cls('', True, True, _RULES, versions.MAX, ('', ''), services)

    def may(self, rule: str) -> bool:
        """Say whether policy lets these callers do ``rule``."""
        return rule in self.allowed

    def linked(self, collection: str) -> Callable[[str], list[dict[str, str]]]:
        """Return a function from the id of an operation to its links: only operations have any."""
        own, bookmark = self.links
        return lambda row_id: [
            {'rel': 'self', 'href': f'{own}{row_id}'},
            {'rel': 'bookmark', 'href': f'{bookmark}{row_id}'},
        ]

    def sees(self, record: Record) -> bool:
        """Say whether these callers may know of a change."""
        if record.event in (OPERATION, STATUS, USAGE):
            return self._is_of_theirs(record.project_id) and self._may_list(record)
        return record.about is None or self.sees_kind(record.about)

    def sees_kind(self, event: str) -> bool:
        """Say whether these callers may see events of pools, or of services."""
        return _SEEN[event] in self.allowed

    def _is_of_theirs(self, project_id: str | None) -> bool:
        if not project_id:
            return self.is_admin
        return self.everybody or project_id == self.project_id

    def _may_list(self, record: Record) -> bool:
        if record.resource_type not in OWN_TYPES and not self.is_admin:
            return False
        own = {OPERATION: 'operation:index', USAGE: _USAGE}
        return own.get(record.event, _LISTED.get(record.resource_type)) in self.allowed
