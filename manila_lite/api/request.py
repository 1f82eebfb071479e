# SPDX-License-Identifier: Apache-2.0
"""The argument of handlers: the caller, the version, the parsed parts of the request, and links."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import webob

from manila_lite import context
from manila_lite.db.core import paging

#: Keys of a request's environ: what answers clients that listen to events; whether the server can keep a connection for them
#: without a thread; and the listener that such a connection is for.
HUB, LISTENS, LISTENER = 'manila_lite.events', 'manila_lite.listens', 'manila_lite.listener'


class Request:
    """One call of the API. ``params`` come from the path, ``query`` and ``body`` are parsed and checked."""

    def __init__(self, raw: webob.Request, ctx: context.RequestContext, version: int, base: str):
        self.raw = raw
        self.ctx = ctx
        self.version = version
        self.base = base
        #: The first part of the path.
        self.prefix = 'v2'
        self.params: dict[str, str] = {}
        self.query: dict[str, Any] = {}
        #: Names of query parameters that the call does not know, and ignores.
        self.unknown: set[str] = set()
        self.body: Any = None
        #: Paths of the fields of the body that are unknown, and ignored.
        self.ignored: list[str] = []
        #: The total number of items of a list, if the caller asked for it.
        self.count: int | None = None
        #: Further headers of an answer without a body.
        self.headers: dict[str, str] = {}
        #: Data related to the rows of the answer, by kind and then by row id.
        self.related: dict[str, Any] = {}
        self._allowed: dict[str, bool] = {}

    def may(self, rule: str, target: dict[str, Any] | None = None) -> bool:
        """Say whether policy lets the caller do ``rule`` (asked once per request without a target)."""
        if target is not None:
            return self.ctx.can(rule, target)
        if rule not in self._allowed:
            self._allowed[rule] = self.ctx.can(rule)
        return self._allowed[rule]

    def links(self, collection: str, resource_id: str) -> list[dict[str, str]]:
        """Return the self and bookmark links of a resource."""
        return self.linked(collection)(resource_id)

    def linked(self, collection: str) -> Callable[[str], list[dict[str, str]]]:
        """Return a function from an id to its links, for resources of one collection."""
        tail = f'{self._project()}/{collection}/'
        own, bookmark = f'{self.base}/{self.prefix}{tail}', f'{self.base}{tail}'
        return lambda resource_id: [
            {'rel': 'self', 'href': f'{own}{resource_id}'},
            {'rel': 'bookmark', 'href': f'{bookmark}{resource_id}'},
        ]

    def _project(self) -> str:
        return f'/{self.ctx.project_id}' if self.params.get('project_id') else ''

    @property
    def page(self) -> paging.Page:
        """The page asked for; never more than ``osapi_max_limit`` items."""
        most = self.ctx.conf.osapi_max_limit
        limit = self.query.get('limit')
        return paging.Page(
            limit=most if limit is None else min(limit, most),
            offset=self.query.get('offset') or 0,
            sort_key=self.query.get('sort_key') or 'created_at',
            descending=self.query.get('sort_dir') != 'asc',
            marker=self.query.get('marker'),
        )

    def next_page(self, count: int) -> str | None:
        """Return the URL of the next page, if this one is full."""
        limit = self.page.limit
        if not limit or count < limit:
            return None
        query = {**self.raw.GET.mixed(), 'limit': limit, 'offset': self.page.offset + limit}
        return f'{self.base}{self.raw.path_info}?{urlencode(query, doseq=True)}'
