# SPDX-License-Identifier: Apache-2.0
"""Fields with the versions in which they exist; schemas, parsers and views are computed from them."""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Mapping
from typing import Any

import fastjsonschema

from manila_lite import errors
from manila_lite.api import versions

Schema = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Field:
    """One field of a body, a query or a view, from microversion ``since`` to ``until`` (both included).

    ``read``: for views, the row's attribute or a function of (row, request); default the field's name.
    ``parse``: for bodies and queries, from the value sent to the value meant; a ValueError is a 400.
    ``rule``: for views, a policy that the caller must pass to see it. ``aliases``: other accepted names.
    """

    name: str
    schema: Schema
    since: str = '2.0'
    until: str | None = None
    read: str | Callable[[Any, Any], Any] | None = None
    parse: Callable[[Any], Any] | None = None
    rule: str | None = None
    required: bool = False
    aliases: tuple[str, ...] = ()

    def lives(self, version: int) -> bool:
        """Say whether the field exists at a version."""
        return versions.minor(self.since) <= version and (self.until is None or version <= versions.minor(self.until))

    def value(self, row: Any, req: Any) -> Any:
        """Read the field from a row."""
        if callable(self.read):
            return self.read(row, req)
        return getattr(row, self.read or self.name)


def living(fields: tuple[Field, ...], version: int) -> tuple[Field, ...]:
    """Return the fields that exist at a version."""
    return tuple(field for field in fields if field.lives(version))


# Parsing what clients send ----------------------------------------------------------------------

def compiled(schema: Schema) -> Callable[[Any], Any]:
    """Return a validator; made once per schema, since making it is a thousand times dearer than using it."""
    return fastjsonschema.compile({'$schema': 'http://json-schema.org/draft-07/schema#', **schema}, use_default=False,
                                  formats={'uuid': r'^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$'})


def check(validate: Callable[[Any], Any], document: Any) -> None:
    """The document fits.

    :raises errors.Invalid: it does not; the message begins with the path of the field.
    """
    try:
        validate(document)
    except fastjsonschema.JsonSchemaValueException as bad:
        path = '.'.join(str(part) for part in bad.path[1:])
        reason = bad.message.removeprefix(bad.name).strip() if bad.name else bad.message
        raise errors.Invalid(f'{path or "body"}: {reason}.', code='invalid_input') from None


def parse(field: Field, name: str, value: Any) -> Any:
    """Return the value meant.

    :raises errors.Invalid: the field's parser refuses it.
    """
    if field.parse is None or value is None:
        return value
    try:
        return field.parse(value)
    except (ValueError, TypeError, OverflowError) as bad:
        raise errors.Invalid(f'{name}: {bad}.') from None


@dataclasses.dataclass(frozen=True, eq=False)
class Body:
    """The entity under ``key``. ``missing``: the exception when the entity is not there at all."""

    key: str
    fields: tuple[Field, ...] = ()
    free: Schema | None = None          # an entity without fixed fields, such as metadata
    missing: type[errors.ManilaLiteError] = errors.Invalid
    optional: bool = False              # null or {} will do
    keys: tuple[str, ...] = ()          # other accepted keys

    def named(self, key: str) -> 'Body':
        """Return the same entity under another key."""
        return dataclasses.replace(self, key=key)

    @functools.cached_property
    def _cache(self) -> dict[int, Any]:
        return {}

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the whole document at a version."""
        return {'type': 'object', 'properties': {self.key: self.entity(version)}, 'required': [self.key],
                'additionalProperties': False}

    def entity(self, version: int) -> Schema:
        """Return the JSON schema of the entity at a version."""
        if self.free is not None:
            return self.free
        fields = living(self.fields, version)
        properties = {name: field.schema for field in fields for name in (field.name, *field.aliases)}
        # A field of another version may be sent empty: clients fill in their whole form.
        properties |= {name: {'type': 'null'} for field in self.fields for name in (field.name, *field.aliases)
                       if name not in properties}
        return {'type': ['object', 'null'] if self.optional else 'object', 'properties': properties,
                'required': [field.name for field in fields if field.required and not field.aliases],
                'additionalProperties': False}

    def parse(self, version: int, document: Any) -> Any:
        """Return the entity with every field under its own name.

        :raises errors.Invalid: with the name of the field and the reason.
        """
        key = next((key for key in (self.key, *self.keys) if isinstance(document, dict) and key in document), None)
        if key is None or (document[key] is None and not self.optional):
            raise self.missing(f'{self.key}: missing from the request body.')
        if set(document) != {key}:
            raise errors.Invalid(f'{", ".join(sorted(set(document) - {key}))}: not expected beside {key}.')
        if version not in self._cache:
            self._cache[version] = compiled(self.schema(version))
        check(self._cache[version], {self.key: document[key]})
        return document[key] if self.free is not None else self._named(version, document[key] or {})

    def _named(self, version: int, entity: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for field in living(self.fields, version):
            for name in (field.name, *field.aliases):
                if name in entity:
                    found[field.name] = parse(field, name, entity[name])
                    break
            else:
                if field.required:
                    raise errors.Invalid(f'{self.key}.{field.name}: missing.')
        return found


# Showing rows -----------------------------------------------------------------------------------

def shown(value: Any) -> Any:
    """Return a value as JSON shows it: times as ISO 8601 with microseconds and no zone."""
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%dT%H:%M:%S.%f')
    return value


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """How a row looks. ``collection``: path under which it has links of its own, or nothing."""

    key: str
    plural: str
    fields: tuple[Field, ...]
    collection: str | None = None

    @functools.cached_property
    def _cache(self) -> dict[int, tuple[Field, ...]]:
        return {}

    def render(self, row: Any, req: Any) -> dict[str, Any]:
        """Return the row as the caller's version shows it."""
        if req.version not in self._cache:
            self._cache[req.version] = living(self.fields, req.version)
        found = {field.name: shown(field.value(row, req)) for field in self._cache[req.version]
                 if field.rule is None or req.may(field.rule)}
        if self.collection:
            found['links'] = req.links(self.collection, row.id)
        return found

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of one rendered row."""
        fields = living(self.fields, version)
        properties = {field.name: field.schema for field in fields}
        if self.collection:
            properties['links'] = LINKS
        return {'type': 'object', 'properties': properties, 'additionalProperties': False,
                'required': [field.name for field in fields if field.rule is None] + (['links'] if self.collection else [])}


@dataclasses.dataclass(frozen=True, eq=False)
class One:
    """An answer with one row: ``{key: {...}}``."""

    view: View

    def render(self, row: Any, req: Any) -> dict[str, Any]:
        """Return the document."""
        return {self.view.key: self.view.render(row, req)}

    def schema(self, version: int) -> Schema:
        """Return its schema."""
        return document({self.view.key: self.view.schema(version)})


@dataclasses.dataclass(frozen=True, eq=False)
class Many:
    """An answer with a list: ``{plural: [...]}``, links to the next page, and a count when it was asked for."""

    view: View
    counted: bool = False
    paged: bool = False

    def render(self, rows: Any, req: Any) -> dict[str, Any]:
        """Return the document."""
        found: dict[str, Any] = {self.view.plural: [self.view.render(row, req) for row in rows]}
        if self.counted and req.count is not None:
            found['count'] = req.count
        if self.paged and (following := req.next_page(len(rows))):
            found[f'{self.view.plural}_links'] = [{'rel': 'next', 'href': following}]
        return found

    def schema(self, version: int) -> Schema:
        """Return its schema."""
        optional: dict[str, Schema] = {'count': INTEGER} if self.counted else {}
        if self.paged:
            optional[f'{self.view.plural}_links'] = LINKS
        return document({self.view.plural: {'type': 'array', 'items': self.view.schema(version)}}, optional)


@dataclasses.dataclass(frozen=True, eq=False)
class Plain:
    """An answer that the handler gives whole under ``key``, or, without a key, as it is."""

    body: Schema
    key: str | None = None

    def render(self, value: Any, req: Any) -> dict[str, Any]:
        """Return the document."""
        return value if self.key is None else {self.key: value}

    def schema(self, version: int) -> Schema:
        """Return its schema."""
        return self.body if self.key is None else document({self.key: self.body})


def document(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with exactly these members."""
    return {'type': 'object', 'properties': {**required, **(optional or {})}, 'required': list(required),
            'additionalProperties': False}


# Shapes of values ---------------------------------------------------------------------------------

INTEGER: Schema = {'type': 'integer'}
STRING: Schema = {'type': 'string'}
LINKS: Schema = {'type': 'array', 'items': {
    'type': 'object', 'properties': {'rel': {'type': 'string'}, 'href': {'type': 'string'}}, 'required': ['rel', 'href'],
    'additionalProperties': False}}
