# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests, made of fields: their schemas, and how they are read."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.framework import shapes, unknown_fields
from manila_lite.api.framework.fields import Field, Schema, check, compiled, fields_at, parse


@dataclasses.dataclass(frozen=True, eq=False)
class Body:
    """The entity under ``key``. ``missing``: the exception for a body without the entity."""

    key: str
    fields: tuple[Field, ...] = ()
    free: Schema | None = None  # an entity without fixed fields, such as metadata
    missing: type[errors.ManilaLiteError] = errors.Invalid
    optional: bool = False  # null or {} is accepted
    keys: tuple[str, ...] = ()  # other accepted keys
    strict: bool = False  # unknown fields are refused, not ignored
    alone: bool = False  # keys beside the entity are refused

    def named(self, key: str) -> 'Body':
        """Return the same entity as the body of an action, which has one key."""
        return dataclasses.replace(self, key=key, alone=True)

    @functools.cached_property
    def _cache(self) -> dict[int, tuple[Schema, Callable[[Any], Any], tuple[Field, ...]]]:
        return {}

    def schema(self, version: int) -> Schema:
        """Return the JSON schema of the whole document at a version, as clients may send it."""
        return self.shown(
            {
                'type': 'object',
                'properties': {self.key: self.entity(version)},
                'required': [self.key],
                'additionalProperties': False,
            }
        )

    def shown(self, schema: Schema) -> Schema:
        """Return a schema as clients see it: with unknown fields, unless the body is strict."""
        shown: Schema = schema if self.strict else unknown_fields.opened(schema)
        return shown

    def entity(self, version: int) -> Schema:
        """Return the JSON schema of the entity at a version, without unknown fields."""
        if self.free is not None:
            return self.free
        fields = fields_at(self.fields, version)
        properties = {name: field.schema for field in fields for name in (field.name, *field.aliases)}
        # Fields of other versions may be sent empty: clients send all fields that they know. Of fields that come later,
        # only a strict body refuses values.
        others = [
            field
            for field in self.fields
            if self.strict or (field.until is not None and versions.minor(field.until) < version)
        ]
        properties |= {
            name: shapes.EMPTY
            for field in others
            for name in (field.name, *field.aliases)
            if name not in properties
        }
        return {
            'type': ['object', 'null'] if self.optional else 'object',
            'properties': properties,
            'required': [field.name for field in fields if field.required and not field.aliases],
            'additionalProperties': False,
        }

    def parse(self, version: int, document: Any, ignored: list[str] | None = None) -> Any:
        """Return the entity with every field under its own name.

        ``ignored``: gets the paths of fields that are unknown, and ignored.

        :raises errors.Invalid: with the name of the field and the reason.
        """
        key = next(
            (key for key in (self.key, *self.keys) if isinstance(document, dict) and key in document), None
        )
        if key is None or (document[key] is None and not self.optional):
            raise self.missing(f'{self.key}: missing from the request body.')
        ignored = [] if ignored is None else ignored
        if beside := sorted(set(document) - {key}):
            if self.strict or self.alone:
                raise errors.Invalid(f'{", ".join(beside)}: not expected beside {key}.')
            ignored += beside
        return self.parse_entity(version, document[key], ignored)

    def parse_entity(self, version: int, entity: Any, ignored: list[str], *, bare: bool = False) -> Any:
        """Return the entity with every field under its own name. ``bare``: it has no key around it.

        :raises errors.Invalid: with the name of the field and the reason.
        """
        if version not in self._cache:
            schema = self.entity(version)
            whole = schema if bare else {'type': 'object', 'properties': {self.key: schema}}
            self._cache[version] = schema, compiled(whole), fields_at(self.fields, version)
        schema, validate, fields = self._cache[version]
        if not self.strict:
            entity = unknown_fields.take_out(schema, entity, '' if bare else self.key, ignored)
        entity = _without_empty_texts(fields, entity)
        check(validate, entity if bare else {self.key: entity})
        return entity if self.free is not None else self._named(fields, entity or {})

    def _named(self, fields: tuple[Field, ...], entity: dict[str, Any]) -> dict[str, Any]:
        values = {}
        for field in fields:
            for name in (field.name, *field.aliases):
                if name in entity:
                    values[field.name] = parse(field, name, entity[name])
                    break
            else:
                if field.required:
                    raise errors.Invalid(f'{self.key}.{field.name}: missing.')
        return values


@dataclasses.dataclass(frozen=True, eq=False)
class Bare(Body):
    """A body that is the entity itself, without a key."""

    def schema(self, version: int) -> Schema:
        return self.shown(self.entity(version))

    def parse(self, version: int, document: Any, ignored: list[str] | None = None) -> Any:
        if not isinstance(document, dict):
            raise errors.Invalid('body: must be an object.')
        return self.parse_entity(version, document, [] if ignored is None else ignored, bare=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Either(Bare):
    """A body that is the entity itself, or has it under ``key``: clients send both."""

    def schema(self, version: int) -> Schema:
        wrapped = {
            'type': 'object',
            'properties': {self.key: self.entity(version)},
            'required': [self.key],
            'additionalProperties': False,
        }
        return self.shown({'oneOf': [self.entity(version), wrapped]})

    def parse(self, version: int, document: Any, ignored: list[str] | None = None) -> Any:
        wrapped = isinstance(document, dict) and set(document) == {self.key}
        return super().parse(version, document[self.key] if wrapped else document, ignored)


def _without_empty_texts(fields: tuple[Field, ...], entity: Any) -> Any:
    """Return the entity with null in place of empty texts, in the fields where they mean that."""
    if not isinstance(entity, dict) or '' not in entity.values():
        return entity
    names = {name for field in fields if field.empty_is_null for name in (field.name, *field.aliases)}
    return {name: None if value == '' and name in names else value for name, value in entity.items()}
