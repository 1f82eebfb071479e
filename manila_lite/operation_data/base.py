# SPDX-License-Identifier: Apache-2.0
"""The base of the data of all kinds of operations: its fields, and how they are stored."""

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Self

#: Metadata of a field with a default that is stored all the same: services of the release before expect its key.
ALWAYS = {'always': True}


@dataclasses.dataclass(frozen=True)
class Failure:
    """Why an operation is being undone, or has failed: as its owner may read it, and the detail of the user message."""

    told: str | None = None
    detail: str | None = None


def record(cls: Any, only: Collection[str] = (), *, sparse: bool = False) -> dict[str, Any]:
    """Return the metadata of a field whose values are of this dataclass. Keys of a newer release within it are ignored.

    ``only``: these of its fields are stored, by default all. ``sparse``: those that are not at their default.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    names = only or defaults

    def load(stored: Mapping[str, Any]) -> Any:
        return cls(**{key: value for key, value in dict(stored).items() if key in names})

    def dump(value: Any) -> dict[str, Any]:
        return {
            name: getattr(value, name)
            for name in names
            if not sparse or getattr(value, name) != defaults[name]
        }

    return {'load': load, 'dump': dump}


def part(cls: 'type[Stored]') -> dict[str, Any]:
    """Return the metadata of a field whose value is stored data by itself."""
    return {'load': cls.from_json, 'dump': cls.to_json}


def each(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a field with a list of values, from that of a field with one."""
    return {
        'load': lambda stored: [one['load'](value) for value in stored],
        'dump': lambda values: [one['dump'](value) for value in values],
    }


def by_id(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a field with values by id, from that of a field with one."""
    return {
        'load': lambda stored: {key: one['load'](value) for key, value in stored.items()},
        'dump': lambda values: {key: one['dump'](value) for key, value in values.items()},
    }


@dataclasses.dataclass(kw_only=True)
class Stored:
    """Something that is stored as JSON: the data of an operation, or a part of them.

    A field is stored under its name, or under the ``key`` of its metadata, by ``dump`` of its metadata, and read by ``load``.
    A field without a default must be there. One with a default is not stored while it has it, unless it is ``ALWAYS``; and
    null counts as not there. What no field reads is kept as it is: a newer release stored it, or ``trace.py``.
    """

    others: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the data that are stored like this.

        :raises ValueError: they are not data of this kind.
        """
        if not isinstance(stored, Mapping):
            raise ValueError(f'{cls.__name__}: not an object')  # noqa: TRY004 - as for all that is not its data
        try:
            others = dict(stored)
            known = {
                one.name: one.of(others.pop(one.key, None), is_there=one.key in stored)
                for one in _fields(cls)
            }
            return cls(**known, others=others)
        except (AttributeError, KeyError, TypeError, ValueError) as bad:
            raise ValueError(f'{cls.__name__}: {bad}') from None

    def to_json(self) -> dict[str, Any]:
        """Return the data as they are stored."""
        values = [(one, getattr(self, one.name)) for one in _fields(type(self))]
        return self.others | {
            one.key: value if value is None else one.dump(value)
            for one, value in values
            if one.is_always or value != one.default()
        }


@dataclasses.dataclass(kw_only=True)
class OperationData(Stored):
    """The data of an operation of any kind. Each kind with more data has a class of its own.

    ``asked``: how often the operation had been asked for when its first step began. ``progress``: figures for users, as
    their kind has them.
    ``begun_again``: the doctor began it, since one like it was parked; the second time it ends as failed.
    """

    asked: int | None = None
    failure: Failure | None = dataclasses.field(default=None, metadata=record(Failure))
    progress: Any = None
    begun_again: bool = False

    def afresh(self) -> Self:
        """Return the data for another operation of the kind: without the notes of the engine, which are about this one."""
        return dataclasses.replace(
            self, asked=None, failure=None, progress=None, begun_again=False, others={}
        )


class _Field(NamedTuple):
    """How one field is stored. ``default`` returns what is not stored, unless ``is_always``."""

    name: str
    key: str
    load: Callable[[Any], Any]
    dump: Callable[[Any], Any]
    default: Callable[[], Any]
    is_required: bool
    is_always: bool

    def of(self, stored: Any, *, is_there: bool) -> Any:
        """Return the value that is stored like this. ``is_there``: its key is stored, perhaps with null."""
        if self.is_required and not is_there:
            raise ValueError(f'{self.key} is missing')
        if stored is None:
            return None if self.is_required else self.default()
        return self.load(stored)


def _same(value: Any) -> Any:
    return value


#: The fields of each class, once they are known: operations are read and stored often.
_KNOWN: dict[Any, tuple[_Field, ...]] = {}


def _fields(cls: type[Stored]) -> tuple[_Field, ...]:
    if cls not in _KNOWN:
        _KNOWN[cls] = tuple(_field(one) for one in dataclasses.fields(cls) if one.name != 'others')
    return _KNOWN[cls]


def _field(field: dataclasses.Field[Any]) -> _Field:
    is_required = field.default is field.default_factory is dataclasses.MISSING
    default = field.default_factory
    if default is dataclasses.MISSING:
        default = functools.partial(_same, field.default)
    return _Field(
        field.name,
        field.metadata.get('key', field.name),
        field.metadata.get('load', _same),
        field.metadata.get('dump', _same),
        default,
        is_required,
        is_required or field.metadata.get('always', False),
    )
