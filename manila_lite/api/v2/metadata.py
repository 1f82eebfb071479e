# SPDX-License-Identifier: Apache-2.0
"""Handlers for metadata: the same six calls for every resource type that has metadata."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from manila_lite import errors
from manila_lite.api.request import Request
from manila_lite.api.v2.shared_calls import SharedCalls


def get_pair(pairs: Mapping[str, str], key: str, item_name: str) -> dict[str, str]:
    """Return one pair of the metadata.

    :raises errors.NotFound: there is no such key; ``item_name``: the name of the item in the message.
    """
    if key not in pairs:
        raise errors.NotFound.of(item_name, key)
    return {key: pairs[key]}


def get_pair_of_path(req: Request, field: str = 'body') -> Any:
    """Return the body, which must hold just the pair that the path names. ``field``: its name in messages.

    :raises errors.Invalid: the body has another key, or more.
    """
    key = req.params['key']
    if set(req.body) != {key}:
        raise errors.Invalid(f'{field}: must hold exactly the key {key} that the URL names.')
    return req.body


@dataclasses.dataclass(frozen=True)
class MetadataCalls(SharedCalls):
    """The metadata calls of one resource type.

    ``actions`` has ``metadata``, ``set_metadata`` and ``delete_metadata``; ``params`` are the parts of the path that
    name the resource. ``more`` returns further arguments for the changing actions.
    """

    actions: Any
    params: tuple[str, ...]
    more: Callable[[Request], dict[str, Any]] = lambda req: {}

    def _ids(self, req: Request) -> list[str]:
        return [req.params[name] for name in self.params]

    def get_metadata(self, req: Request) -> dict[str, str]:
        """Show all metadata."""
        return dict(self.actions.metadata(req.ctx, *self._ids(req)))

    def merge_metadata(self, req: Request) -> dict[str, str]:
        """Set some keys of the metadata."""
        return dict(
            self.actions.set_metadata(req.ctx, *self._ids(req), req.body, replace=False, **self.more(req))
        )

    def replace_metadata(self, req: Request) -> dict[str, str]:
        """Replace all metadata."""
        return dict(
            self.actions.set_metadata(req.ctx, *self._ids(req), req.body, replace=True, **self.more(req))
        )

    def get_metadata_item(self, req: Request) -> dict[str, str]:
        """Show one key of the metadata."""
        return get_pair(self.actions.metadata(req.ctx, *self._ids(req)), req.params['key'], 'metadata item')

    def set_metadata_item(self, req: Request) -> dict[str, str]:
        """Set one key of the metadata."""
        pair: dict[str, str] = get_pair_of_path(req, 'meta')
        self.actions.set_metadata(req.ctx, *self._ids(req), pair, replace=False, **self.more(req))
        return pair

    def delete_metadata(self, req: Request) -> None:
        """Delete one key of the metadata."""
        self.actions.delete_metadata(req.ctx, *self._ids(req), req.params['key'], **self.more(req))
