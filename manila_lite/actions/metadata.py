# SPDX-License-Identifier: Apache-2.0
"""Actions on metadata, the same for every resource type. Export locations, of whose keys one is a column, have their own."""

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values


@dataclasses.dataclass(frozen=True)
class AdminKeys:
    """The keys of the configuration option ``option``, which only callers with the policy ``rule`` set or delete."""

    rule: str
    option: str

    def of(self, ctx: RequestContext) -> Collection[str]:
        """Return the keys that the caller may not touch."""
        return () if ctx.can(self.rule) else ctx.conf[self.option]

    def vet(self, ctx: RequestContext, asked: Iterable[str]) -> Collection[str]:
        """Return the keys that the caller may not touch.

        :raises errors.Forbidden: one of these keys is in ``asked``.
        """
        keys = self.of(ctx)
        if wrong := sorted(set(asked) & set(keys)):
            raise errors.Forbidden(f'metadata: only administrators may set or delete {", ".join(wrong)}.')
        return keys


@dataclasses.dataclass(frozen=True)
class Metadata:
    """Actions on the metadata of one resource type. The ids are those of the URL; the last one is the resource's.

    ``get(conn, ctx, *ids)`` and ``open(conn, ctx, *ids)`` refuse callers, and ``open`` also changes that the state of the
    resource forbids. ``vet(ctx, keys)`` refuses keys, and returns those that replacing all pairs keeps. ``tell(conn, ctx,
    resource_id, keys)`` learns which pairs changed.
    """

    table: Any
    get: Callable[..., Any]
    open: Callable[..., Any]
    vet: Callable[[RequestContext, Iterable[str]], Collection[str]] = lambda ctx, keys: ()
    tell: Callable[..., None] | None = None

    def metadata(self, ctx: RequestContext, *ids: str) -> dict[str, str]:
        """Return all metadata."""
        with ctx.db.reader() as conn:
            self.get(conn, ctx, *ids)
            return key_values.of(conn, self.table, ids[-1])

    def set_metadata(
        self, ctx: RequestContext, *ids: str, values: dict[str, str], replace: bool = False, **more: Any
    ) -> dict[str, str]:
        """Set metadata of a resource and return all of it. ``replace``: remove the pairs that are not given.

        :raises errors.OverLimit: the resource would have too many pairs.
        """
        with ctx.db.writer() as conn:
            self.open(conn, ctx, *ids)
            keep = self.vet(ctx, values)
            before = key_values.of(conn, self.table, ids[-1]) if self.tell else {}
            if replace:
                key_values.replace(conn, self.table, ids[-1], values, keep, conf=ctx.conf)
            else:
                key_values.merge(conn, self.table, ids[-1], values, conf=ctx.conf)
            now = key_values.of(conn, self.table, ids[-1])
            if self.tell:
                changed = [key for key in before.keys() | now.keys() if before.get(key) != now.get(key)]
                self.tell(conn, ctx, ids[-1], changed, **more)
            return now

    def delete_metadata(self, ctx: RequestContext, *ids: str, key: str, **more: Any) -> None:
        """Delete one pair of a resource's metadata.

        :raises errors.NotFound: the resource has no such key.
        """
        with ctx.db.writer() as conn:
            self.open(conn, ctx, *ids)
            self.vet(ctx, (key,))
            key_values.remove(conn, self.table, ids[-1], key)
            if self.tell:
                self.tell(conn, ctx, ids[-1], (key,), **more)
