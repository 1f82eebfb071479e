# SPDX-License-Identifier: Apache-2.0
"""The one pecan controller: version, route, policy, body and query, the call, the view. In this order."""

import functools
from collections.abc import Callable
from typing import Any

import fastjsonschema
import orjson
import pecan
import webob
from oslo_policy import policy

from manila_lite import context, errors
from manila_lite.api import versions
from manila_lite.api.framework import fields, sentences, unknown_fields
from manila_lite.api.framework.bodies import Body
from manila_lite.api.framework.call import PAGE, Call
from manila_lite.api.http import faults, idempotency, json_bodies, request_log
from manila_lite.api.http.definition import SHARE, Definition
from manila_lite.api.http.routes import Match
from manila_lite.api.request import Request
from manila_lite.db.core import engine, paging

#: Characters of a parameter's name that an answer shows.
_SHOWN = 64

#: Query parameters of every list.
_OF_PAGES = frozenset(field.name for field in PAGE)

#: The call with a retry after errors of the database that are worth one.
_retried = functools.cache(engine.retry)


class Root:
    """Serves every path of an API below ``/``."""

    def __init__(self, services: context.Services, api: Definition = SHARE):
        self.services = services
        self.api = api
        self._routes = api.routes

    @pecan.expose()  # type: ignore[untyped-decorator]  # pecan has no types
    def _route(self, args: Any, request: Any) -> tuple[Any, list[str]]:
        return self.handle, []

    @pecan.expose()  # type: ignore[untyped-decorator]  # pecan has no types
    def handle(self) -> webob.Response:
        """Answer the request; every outcome is a response in the API's shape."""
        raw = webob.Request(pecan.request.environ)
        version: int | None = None
        administrator = False
        ignored: list[str] = []
        try:
            _must_be_short(raw, self.services.conf.limits.query_length)
            answer = self.api.answer(raw, self.services.conf)
            if answer is not None:
                raw.environ[request_log.ROUTE] = 'discovery'
                return answer
            version = self.api.version(raw)
            req = self._request(raw, version)
            administrator, ignored = bool(req.ctx.is_admin), req.ignored
            response = self._dispatch(req)
        except Exception as error:
            response = self.api.fault(error, getattr(error, 'call_states', ()), administrator=administrator)
        if ignored:
            response.headers[unknown_fields.HEADER] = unknown_fields.header(ignored)
        return self.api.stamp(response, version, raw)

    def _request(self, raw: webob.Request, version: int) -> Request:
        ctx = context.RequestContext.from_environ(raw.environ, services=self.services, overwrite=False)
        context.known_as(ctx)
        ctx.is_admin = self.services.enforcer.decide('context_is_admin', ctx, {}, own=False)
        return Request(raw, ctx, version, self.api.base(raw, self.services.conf))

    def _dispatch(self, req: Request) -> webob.Response:
        req.prefix, *parts = self._parts(req.raw)
        match = self._routes.find(parts, req.version)
        if match is None:
            raise errors.NotFound(
                f'{req.raw.path_info} is not a path of this API at {self.api.show(req.version)}.',
                code='no_such_path',
            )
        # All calls of a path have one template; only names of parameters may differ.
        req.raw.environ[request_log.ROUTE] = f'/{req.prefix}{match.calls[0].path_at(req.version)}'
        req.params = match.params
        req.ctx.resource_uuid = next(
            (value for name, value in match.params.items() if name != 'project_id'), None
        )
        document = _document(req.raw)
        call = self._choose(match, req, document)
        try:
            self._project(req)
            if not any(map(req.may, call.rules(document))):
                raise policy.PolicyNotAuthorized(call.policy, {}, {})
            req.query = _query(call, req)
            _vet_filters(call, req)
            body = _body(call, req.version)
            if body is not None:
                req.body = body.parse(req.version, document, req.ignored)
            if call.once and idempotency.HEADER in req.raw.headers:
                return idempotency.answer(req, document, lambda: self._made(call, call.call, req))
            return self._made(call, _retried(call.call), req)
        except Exception as error:
            error.call_states = call.states  # type: ignore[attr-defined]  # read where it is answered
            raise

    def _parts(self, raw: webob.Request) -> list[str]:
        try:
            path: str = raw.path_info
        except UnicodeDecodeError:
            raise errors.Invalid('path: is not UTF-8.') from None
        if '\x00' in path:
            raise errors.Invalid('path: holds a NUL character.')
        # A slash at the end is an empty last part: a client put an empty id there.
        parts = path.removeprefix('/').split('/')
        if parts[0] not in self.api.prefixes:
            below = ' or '.join(f'/{prefix}/' for prefix in self.api.prefixes)
            raise errors.NotFound(
                f'{path} is not a path of this API; its paths begin with {below}.', code='no_such_path'
            )
        return parts

    def _choose(self, match: Match, req: Request, document: Any) -> Call:
        """Return the call of the path for the request's method and, for actions, the body's key."""
        calls = [call for call in match.calls if call.method == req.raw.method]
        if not calls and match.skipped:
            raise errors.NotFound(
                f'{req.raw.path_info} has no id before {match.skipped}.', code='no_such_path'
            )
        if not calls:
            raise _WrongMethod(
                f'{req.raw.method} is not allowed here; allowed: '
                f'{", ".join(sorted({call.method for call in match.calls}))}.'
            )
        experimental = req.raw.headers.get(versions.EXPERIMENTAL_HEADER, '').lower() == 'true'
        calls = [
            call
            for call in calls
            if experimental
            or not call.experimental_until
            or req.version > versions.minor(call.experimental_until)
        ]
        if not calls:
            raise errors.NotFound(
                f'{req.raw.path_info} is experimental at {self.api.show(req.version)}; send the header '
                f'{versions.EXPERIMENTAL_HEADER}: true.',
                code='no_such_path',
            )
        if calls[0].action is None:
            return calls[0]
        keys = list(document) if isinstance(document, dict) else []
        for call in calls:
            if call.action_at(req.version) in keys:
                return call
        if not keys:
            raise errors.Invalid('body: must be an object with one action as its key.')
        raise errors.NotFound(
            f'{keys[0]}: is not an action of this resource at {self.api.show(req.version)}.',
            code='no_such_action',
        )

    def _made(self, offered: Call, call: Callable[[Request], Any], req: Request) -> webob.Response:
        answer = call(req)
        req.ctx.resource_uuid = req.ctx.resource_uuid or getattr(answer, 'id', None)
        return self._show(offered, req, answer)

    def _project(self, req: Request) -> None:
        given = req.params.get('project_id')
        if given is None or given == req.ctx.project_id:
            return
        if self.services.conf.auth_strategy != 'noauth':
            raise errors.Invalid(f'project_id: project {given} of the URL is not the project of the caller.')
        req.ctx.project_id = given

    def _show(self, call: Call, req: Request, answer: Any) -> webob.Response:
        if isinstance(answer, webob.Response):  # its body follows later
            return answer
        idle = call.or_ok if answer is False else None
        if call.view is None or idle:
            response = webob.Response(
                status=idle or call.ok, content_type='application/json', charset='UTF-8'
            )
            response.headers.update(req.headers)
            return response
        shown = call.view.render(answer, req)
        if self.services.conf.api.response_validation:
            _check_answer(call, req.version, shown)
        return webob.Response(
            fields.encode(shown), status=call.ok, content_type='application/json', charset='UTF-8'
        )


def _document(raw: webob.Request) -> Any:
    """Return the body as JSON, or None if there is none.

    :raises errors.Invalid: the body is of another media type, or ``json_bodies`` does not read it.
    """
    # A body of known length is read directly; WebOb would also keep a copy for a second read.
    text = raw.body if raw.content_length is None else raw.body_file_raw.read(raw.content_length)
    if not text.strip():
        return None
    kind = raw.content_type or 'application/json'
    if kind not in ('application/json', 'application/octet-stream', 'application/x-www-form-urlencoded'):
        raise _WrongMedia(f'Content-Type: {kind} is not understood; send application/json.')
    return json_bodies.read(text)


class _WrongMedia(errors.Invalid):
    """The body is of a media type that the API does not read."""

    code = 'wrong_media_type'


class _WrongMethod(errors.Invalid):
    """The path has no such method."""

    code = 'wrong_method'


faults.STATUS[_WrongMedia] = 415
faults.STATUS[_WrongMethod] = 405


def _must_be_short(raw: webob.Request, most: int) -> None:
    if len(raw.environ.get('QUERY_STRING', '')) > most:
        raise errors.Invalid(
            f'query: is longer than {errors.count(most, "character")} ([limits] query_length). Send a '
            'shorter query.',
            code='query_too_long',
        )


def _query(call: Call, req: Request) -> dict[str, Any]:
    """Return the parsed query parameters that the call knows.

    Others are ignored, as clients expect, unless the call is strict.
    """
    known = _known(call, req.version)
    try:
        sent = list(req.raw.GET.items())
        most = req.ctx.conf.limits.filter_length
        values = {}
        for name, text in sent:
            if len(name) + len(text) > most:
                raise errors.Invalid(
                    f'{name[:_SHOWN]}: is longer than {errors.count(most, "character")} ([limits] '
                    'filter_length). Use a '
                    'shorter filter.',
                    code='filter_too_long',
                )
            if '\x00' in text:
                raise errors.Invalid(f'{name}: holds a NUL character.')
            if name not in known:
                req.unknown.add(name)
            else:
                field, validate = known[name]
                value = fields.parse(field, name, text)
                if validate is not None:
                    _check_query(name, validate, value)
                values[field.name] = value
        if call.strict:
            _check_names(known, sent)
        return values
    except UnicodeDecodeError:
        raise errors.Invalid('query: is not UTF-8.') from None


def _vet_filters(call: Call, req: Request) -> None:
    """Refuse filters and sort keys on hidden fields: the rows, and their order, tell about their values.

    :raises errors.Forbidden: the caller does not see the field.
    :raises errors.Invalid: no field has the name of the sort key.
    """
    if not isinstance(call.view, fields.Many):
        return
    for name, value in req.query.items():
        if value is not None and name not in _OF_PAGES:
            _may_filter(req, call.view, _known(call, req.version)[name][0], value)
    key = req.query.get('sort_key')
    if not key:
        return
    rule = call.view.rule_of(key)
    if rule and not req.may(rule):
        if call.view.shows(key):
            raise errors.Forbidden(f'sort_key: only administrators may sort by {key}.')
        raise paging.no_sort_key(key)


def _may_filter(req: Request, view: fields.Many, field: fields.Field, value: Any) -> None:
    if not all(map(req.may, filter(None, (field.rule, None if field.hidden else view.rule_of(field.name))))):
        raise errors.Forbidden(f'{field.name}: only administrators may filter by it.')
    if field.hidden and not req.ctx.is_admin and (hidden := field.hidden(value)):
        raise errors.Forbidden(f'{field.name}: only administrators may filter by {", ".join(hidden)}.')


def _check_names(known: Any, sent: Any) -> None:
    if strange := sorted({name for name, _ in sent} - set(known)):
        raise errors.Invalid(f'{", ".join(strange)}: not a query parameter of this call.')


def _check_query(name: str, validate: Any, value: Any) -> None:
    try:
        validate(value)
    except fastjsonschema.JsonSchemaValueException as bad:
        raise errors.Invalid(f'{name}: {sentences.reason(bad)}.') from None


@functools.lru_cache(maxsize=4096)
def _body(call: Call, version: int) -> Body | None:
    """Return the body of a call, always the same object: it keeps its validator, which takes 10 ms to make."""
    return call.body_at(version)


@functools.lru_cache(maxsize=4096)
def _known(call: Call, version: int) -> dict[str, Any]:
    return {
        name: (field, fields.compiled(field.schema) if not _loose(field) else None)
        for field in fields.fields_at(call.query, version)
        for name in (field.name, *field.aliases)
    }


def _loose(field: fields.Field) -> bool:
    """Say whether the field's parser changes the type, and so has checked the value already."""
    return field.parse is not None and field.schema.get('type') != 'integer'


@functools.lru_cache(maxsize=4096)
def _answer_schema(call: Call, version: int) -> Any:
    assert call.view is not None  # it has an answer
    return fields.compiled(call.view.schema(version))


def _check_answer(call: Call, version: int, shown: Any) -> None:
    try:
        _answer_schema(call, version)(orjson.loads(fields.encode(shown)))
    except fastjsonschema.JsonSchemaValueException as bad:
        raise RuntimeError(
            f'{call.name} at {versions.show(version)} answers with what its schema forbids: {bad}'
        ) from bad
