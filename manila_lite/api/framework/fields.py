# SPDX-License-Identifier: Apache-2.0
"""Fields of bodies, queries and views, with their versions. Schemas, parsers and views are computed from them."""

import dataclasses
import datetime
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import fastjsonschema
import orjson

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.framework import sentences, shapes
from manila_lite.policies.base import CONTEXT_IS_ADMIN

Schema = shapes.Schema

#: The fields, one of which shows what a filter or sort key of another name looks at.
_TELLS: Mapping[str, Sequence[str]] = {
    'display_name': ('name',),
    'display_description': ('description',),
    'availability_zone_id': ('availability_zone',),
    'share_type_id': ('share_type', 'share_id'),
    'share_network': ('share_network_id',),
    'share_network_id': ('share_networks',),
    'export_location_id': ('export_locations',),
    'export_location_path': ('export_locations',),
    'created_since': ('created_at',),
    'created_before': ('created_at',),
    # When something changed, and how far it is, is in the events and operations of its project.
    'updated_at': ('created_at',),
    'progress': ('status',),
    'access_rules_status': ('status',),
    'min_percent': ('percent_full',),
}
#: Query parameters that look at no field: they choose among the rows of which the caller sees all fields.
_NO_FIELDS = frozenset(
    {
        'all_tenants',
        'all_projects',
        'with_count',
        'project_id',
        'is_public',
        'usage',
        'older_than',
        'resolution',
        'capabilities',
        'security_service_id',
        'sort_by',
    }
)


@dataclasses.dataclass(frozen=True)
class Always:
    """The constant value of a field that is the same for all rows."""

    value: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Field:
    """One field of a body, a query or a view, from microversion ``since`` to ``until`` (both included).

    ``read``: for views, the row's attribute, a function of (row, request), or ``Always``; default the field's name.
    ``parse``: for bodies and queries, converts the value sent; a ValueError is a 400. ``rule``: for views, the policy
    of callers who see the field, sort by it and filter by it; for queries, a further policy of those who filter by it.
    ``blank``: other callers see null in its place. ``sparse``: for views, the field is left out where it is null.
    ``hidden``: for queries, returns the parts of the value that only administrators see. ``aliases``: other accepted names.
    ``empty_is_null``: for bodies, the empty text means null, which clients send for "none"; in other fields that may be
    null it is an empty text, or refused.
    """

    name: str
    schema: Schema
    since: str = '2.0'
    until: str | None = None
    read: str | Callable[[Any, Any], Any] | Always | None = None
    parse: Callable[[Any], Any] | None = None
    rule: str | None = None
    hidden: Callable[[Any], Sequence[str]] | None = None
    blank: bool = False
    sparse: bool = False
    required: bool = False
    empty_is_null: bool = False
    aliases: tuple[str, ...] = ()

    def lives(self, version: int) -> bool:
        """Say whether the field exists at a version."""
        return versions.minor(self.since) <= version and (
            self.until is None or version <= versions.minor(self.until)
        )


def fields_at(fields: tuple[Field, ...], version: int) -> tuple[Field, ...]:
    """Return the fields that exist at a version."""
    return tuple(field for field in fields if field.lives(version))


# Parsing what clients send ----------------------------------------------------------------------


def compiled(schema: Schema) -> Callable[[Any], Any]:
    """Return a validator. Each is made once per schema, since to make one takes a thousand times as long as to use it."""
    return fastjsonschema.compile(
        {'$schema': 'http://json-schema.org/draft-07/schema#', **schema},
        use_default=False,
        formats={'uuid': r'^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$'},
    )


def check(validate: Callable[[Any], Any], document: Any) -> None:
    """Validate a document.

    :raises errors.Invalid: the document does not fit; the message begins with the path of the field.
    """
    try:
        validate(document)
    except fastjsonschema.JsonSchemaValueException as bad:
        path = '.'.join(str(part) for part in bad.path[1:])
        raise errors.Invalid(f'{path or "body"}: {sentences.reason(bad)}.', code='invalid_input') from None


def parse(field: Field, name: str, value: Any) -> Any:
    """Return the parsed value of a field.

    :raises errors.Invalid: the field's parser refuses the value.
    """
    if field.parse is None or value is None:
        return value
    try:
        return field.parse(value)
    except (ValueError, TypeError, OverflowError) as bad:
        raise errors.Invalid(f'{name}: {bad}.') from None


# Showing rows -----------------------------------------------------------------------------------


def encode(document: Any) -> bytes:
    """Return an answer as JSON."""
    return orjson.dumps(document, default=_shown, option=orjson.OPT_PASSTHROUGH_DATETIME)


def _shown(value: Any) -> str:
    """Return a time as ISO 8601 with microseconds, even if they are zero, and without a zone."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec='microseconds')
    raise TypeError(f'{type(value).__name__} has no place in JSON')


@functools.lru_cache(maxsize=1024)
def _by_position(
    names: tuple[str, ...], read: tuple[str, ...], layout: tuple[str, ...]
) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that makes dictionaries from tuples, such as rows of the database, and from more columns.

    ``layout`` names the values of a tuple. ``names`` are the keys: first those of the values in ``read``, then those of
    the columns. The function is compiled from source text: no other way is half as fast.
    """
    places = {name: f'row_{index}' for index, name in enumerate(layout)}
    more = [f'more_{number}' for number in range(len(names) - len(read))]
    items = ', '.join(
        f'{name!r}: {value}'
        for name, value in zip(names, [*(places[name] for name in read), *more], strict=True)
    )
    row = f'({" ".join(f"{index}," for index in places.values())}), {" ".join(f"{name}," for name in more)}'
    made: Callable[..., list[dict[str, Any]]] = eval(  # noqa: S307 - our own names
        f'lambda rows, more: [{{{items}}} for {row} in zip(rows, *more)]'
    )
    return made


def _by_attribute(names: tuple[str, ...], read: tuple[str, ...]) -> Callable[..., list[dict[str, Any]]]:
    """Return a function like that of ``_by_position``, for objects of any kind."""
    get = operator.attrgetter(*read) if len(read) > 1 else lambda row: [getattr(row, name) for name in read]
    return lambda rows, more: [
        dict(zip(names, (*get(row), *others), strict=True))
        for row, *others in zip(rows, *more)  # noqa: B905 - some never end
    ]


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The fields that some callers see at one version.

    ``read``: attributes of rows. ``same``: constants. ``computed``: functions. ``names``: the names of all these in
    this order. ``sparse``: names that are left out where the value is null.
    """

    read: tuple[str, ...]
    same: tuple[Any, ...]
    computed: tuple[Callable[[Any, Any], Any], ...]
    names: tuple[str, ...]
    sparse: frozenset[str]

    @classmethod
    def of(cls, fields: Sequence[Field], more: tuple[str, ...]) -> '_Plan':
        """Return the plan for these fields, with ``more`` names at the end."""
        plain = [field for field in fields if field.read is None or isinstance(field.read, str)]
        same = [field for field in fields if isinstance(field.read, Always)]
        computed = [field for field in fields if callable(field.read)]
        return cls(
            tuple(str(field.read or field.name) for field in plain),
            tuple(field.read.value for field in same if isinstance(field.read, Always)),
            tuple(field.read for field in computed if callable(field.read)),
            (*(field.name for field in (*plain, *same, *computed)), *more),
            frozenset(field.name for field in fields if field.sparse),
        )


def _without_nulls(document: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None or name not in names}


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """The JSON form of a row. ``collection``: the path under which it has links of its own, or None."""

    key: str
    plural: str
    fields: tuple[Field, ...]
    collection: str | None = None

    @functools.cached_property
    def _cache(self) -> dict[Any, _Plan]:
        return {}

    def render(self, row: Any, req: Any) -> dict[str, Any]:
        """Return the row in the form of the caller's version."""
        return self.render_all([row], req)[0]

    def render_all(self, rows: Sequence[Any], req: Any) -> list[dict[str, Any]]:
        """Return rows of one kind in the form of the caller's version.

        Rows are made by columns: decisions are made once for each column.
        """
        if not rows:
            return []
        plan = self._plan(req)
        more: list[Iterable[Any]] = [itertools.repeat(value) for value in plan.same]
        more += [[read(row, req) for row in rows] for read in plan.computed]
        if self.collection:
            more.append(map(req.linked(self.collection), [row.id for row in rows]))
        layout = getattr(rows[0], '_fields', ())
        make = (
            _by_position(plan.names, plan.read, layout)
            if set(plan.read) <= set(layout)
            else _by_attribute(plan.names, plan.read)
        )
        return (
            [_without_nulls(document, plan.sparse) for document in make(rows, more)]
            if plan.sparse
            else make(rows, more)
        )

    @functools.cached_property
    def _rules(self) -> tuple[str, ...]:
        return tuple({field.rule: True for field in self.fields if field.rule is not None})

    def _plan(self, req: Any) -> _Plan:
        key = (req.version, *(req.may(rule) for rule in self._rules))
        if key not in self._cache:
            allowed = {None, *(rule for rule, may in zip(self._rules, key[1:], strict=True) if may)}
            seen = [
                field if field.rule in allowed else dataclasses.replace(field, read=Always(None))
                for field in fields_at(self.fields, req.version)
                if field.blank or field.rule in allowed
            ]
            self._cache[key] = _Plan.of(seen, ('links',) if self.collection else ())
        return self._cache[key]

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of one rendered row."""
        fields = fields_at(self.fields, version)
        properties = {field.name: field.schema for field in fields}
        if self.collection:
            properties['links'] = shapes.LINKS
        return {
            'type': 'object',
            'properties': properties,
            'additionalProperties': False,
            'required': [
                field.name for field in fields if (field.blank or field.rule is None) and not field.sparse
            ]
            + (['links'] if self.collection else []),
        }


class Answer(Protocol):
    """The form of an answer: a view of rows in it, and its schema."""

    def render(self, row: Any, req: Any) -> Any:
        """Return the document."""
        ...

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the document."""
        ...


def _keys(key: str, twin: str | None) -> tuple[str, ...]:
    return (key, twin) if twin else (key,)


@dataclasses.dataclass(frozen=True, eq=False)
class One:
    """An answer with one row: ``{key: {...}}``. ``twin``: an older key, under which the row is shown, too."""

    view: View
    twin: str | None = None

    def render(self, row: Any, req: Any) -> dict[str, Any]:
        return dict.fromkeys(_keys(self.view.key, self.twin), self.view.render(row, req))

    def schema(self, version: int) -> Schema:
        return shapes.document(dict.fromkeys(_keys(self.view.key, self.twin), self.view.schema(version)))


@dataclasses.dataclass(frozen=True, eq=False)
class Many:
    """An answer with a list: ``{plural: [...]}``, with links to the next page.

    ``counted``: it has a count if the caller asked for it. ``beside``: fields of the rows that the view does not have, and
    that callers see elsewhere; the list is sorted and filtered by them all the same. ``twin``: an older key, under which the
    list is shown, too.
    """

    view: View
    counted: bool = False
    paged: bool = False
    beside: tuple[Field, ...] = ()
    twin: str | None = None

    def rule_of(self, name: str) -> str | None:
        """Return the policy rule that shows the field of a filter or sort key; None if everybody sees it.

        What no field shows is for administrators.
        """
        shown = {field.name: field.rule for field in (*self.view.fields, *self.beside)}
        name = name.removesuffix('~')
        return next(
            (shown[one] for one in (name, *_TELLS.get(name, ())) if one in shown),
            None if name in _NO_FIELDS else CONTEXT_IS_ADMIN,
        )

    def shows(self, name: str) -> bool:
        """Say whether a field has this name."""
        return any(field.name == name for field in (*self.view.fields, *self.beside))

    def render(self, rows: Any, req: Any) -> dict[str, Any]:
        document: dict[str, Any] = dict.fromkeys(
            _keys(self.view.plural, self.twin), self.view.render_all(rows, req)
        )
        if self.counted and req.count is not None:
            document['count'] = req.count
        if self.paged and (following := req.next_page(len(rows))):
            document[f'{self.view.plural}_links'] = [{'rel': 'next', 'href': following}]
        return document

    def schema(self, version: int) -> Schema:
        optional: dict[str, Schema] = {'count': shapes.INTEGER} if self.counted else {}
        if self.paged:
            optional[f'{self.view.plural}_links'] = shapes.LINKS
        items = {'type': 'array', 'items': self.view.schema(version)}
        return shapes.document(dict.fromkeys(_keys(self.view.plural, self.twin), items), optional)


@dataclasses.dataclass(frozen=True, eq=False)
class Plain:
    """An answer that the handler gives complete: under ``key``, or without a key unchanged."""

    body: Schema
    key: str | None = None

    def render(self, value: Any, req: Any) -> dict[str, Any]:
        return value if self.key is None else {self.key: value}

    def schema(self, version: int) -> Schema:
        return self.body if self.key is None else shapes.document({self.key: self.body})
