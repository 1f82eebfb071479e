# SPDX-License-Identifier: Apache-2.0
"""Handlers without code: a row names the function that does the work, and the parts of the request that it gets.

``act('Shrink a share.', actions.shrink, path('share_id'), field('new_size'))`` calls
``actions.shrink(req.ctx, share_id, new_size)``. The sentence is the summary of the call in documents. A handler that needs
more than this is a function of the resource's module, with the request as its argument.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite.api.framework import related
from manila_lite.api.request import Request


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a request, as an argument. ``place`` and ``name`` say which one; a test looks for it in the row."""

    location: str
    name: str
    read: Callable[[Request], Any]


#: What every query gets first.
_CONN = Part('database', '', lambda req: None)
CTX = Part('caller', '', lambda req: req.ctx)
BODY = Part('body', '', lambda req: req.body)
QUERY = Part('query', '', lambda req: req.query)
PAGING = Part('query', 'limit', lambda req: req.page)


def path(name: str) -> Part:
    """Return a part of the path: ``share_id`` of ``/shares/{share_id}``."""
    return Part('path', name, lambda req: req.params[name])


def field(name: str) -> Part:
    """Return a field of the body that every request has."""
    return Part('body', name, lambda req: req.body[name])


def optional(name: str) -> Part:
    """Return a field of the body, or None."""
    return Part('body', name, lambda req: req.body.get(name))


def flag(name: str) -> Part:
    """Return a field of the body as true or false; false without it."""
    return Part('body', name, lambda req: bool(req.body.get(name)))


def query(name: str) -> Part:
    """Return a parameter of the query, or None."""
    return Part('query', name, lambda req: req.query.get(name))


def since(version: int) -> Part:
    """Return whether the request has this version or a later one."""
    return Part('version', '', lambda req: req.version >= version)


class Handler:
    """A handler with name and summary, as functions have. ``does``: the function that it calls, with these arguments."""

    def __init__(
        self,
        name: str,
        summary: str,
        does: Callable[..., Any],
        run: Callable[[Request], Any],
        parts: tuple[Part, ...] = (),
        named: dict[str, Any] | None = None,
    ):
        self.__name__ = name
        self.__doc__ = summary
        self.does = does
        self.parts = parts
        self.named = named or {}
        self._run = run

    def __call__(self, req: Request) -> Any:
        """Answer the request."""
        return self._run(req)


class SharedCalls:
    """Calls of one resource type, as methods. ``{self...}`` in their docstrings is filled in for documents."""

    def named(self, name: str) -> Handler:
        """Return one of the calls as a handler."""
        method = getattr(self, name)
        return Handler(name, method.__doc__.format(self=self), method, method)


def act(
    summary: str,
    action: Callable[..., Any],
    *parts: Part,
    name: str = '',
    then: Callable[[Request, Any], Any] | None = None,
    **named: Any,
) -> Handler:
    """Return a handler that calls ``action(req.ctx, *parts, **named)``. Each argument of ``named`` is a part, or a constant.

    ``name``: that of the call, if the action has another. ``then``: makes what is shown from what the action returns.
    """

    def run(req: Request) -> Any:
        answer = action(
            req.ctx,
            *[part.read(req) for part in parts],
            **{key: part.read(req) if isinstance(part, Part) else part for key, part in named.items()},
        )
        return then(req, answer) if then else answer

    return Handler(name or action.__name__, summary, action, run, (CTX, *parts), named)


def read(
    summary: str, query: Callable[..., Any], *parts: Part, name: str, load: related.Load | None = None
) -> Handler:
    """Return a handler that shows the row, or the rows, of ``query(conn, *parts)``. ``load`` loads their related data."""

    def run(req: Request) -> Any:
        with req.ctx.db.reader() as conn:
            answer = query(conn, *[part.read(req) for part in parts])
            if load:
                load(conn, req, answer if isinstance(answer, list) else [answer])
        return answer

    return Handler(name, summary, query, run, (_CONN, *parts))


def listing(
    summary: str,
    rows: Callable[..., list[Any]],
    rule: str,
    *,
    name: str = 'index',
    count: Callable[..., int] | None = None,
    load: related.Load | None = None,
    more: Callable[[Request], dict[str, Any]] = lambda req: {},
    nothing: Callable[[Request], bool] = lambda req: False,
    alone: bool = False,
) -> Handler:
    """Return a handler that lists the rows of one project, or of all; see ``related.choose_project``.

    ``rows`` and ``count`` are queries of the resource type. ``load``: loads related data of the rows for the view. ``more``:
    further filters. ``nothing``: whether the filters of a request leave no row.
    """

    def run(req: Request) -> Any:
        filters = {**req.query, **more(req)}
        project_id = related.choose_project(req, filters, rule, alone=alone)
        if nothing(req):
            return []
        with req.ctx.db.reader() as conn:
            listed = rows(conn, filters, req.page, project_id=project_id)
            if count and filters.get('with_count'):
                req.count = count(conn, filters, project_id=project_id)
            if load:
                load(conn, req, listed)
        return listed

    return Handler(name, summary, rows, run)


def loaded(load: related.Load) -> Callable[[Request, Any], Any]:
    """Return a function for ``then`` that loads related data of the row that an action returned."""
    return lambda req, row: related.loaded(req, row, load)


def with_pairs(req: Request, made: tuple[Any, dict[str, str]]) -> Any:
    """Return the row of a new row and its pairs, for ``then``. The view shows the pairs: its metadata or its specs."""
    row, pairs = made
    req.related['metadata'] = {row.id: pairs}
    return row
