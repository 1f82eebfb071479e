# SPDX-License-Identifier: Apache-2.0
"""The calls for metadata: the same six for every resource type that has metadata."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from manila_lite import errors
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Body, Call, Plain
from manila_lite.api.framework.handlers import SharedCalls
from manila_lite.api.request import Request


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
            self.actions.set_metadata(
                req.ctx, *self._ids(req), values=req.body, replace=False, **self.more(req)
            )
        )

    def replace_metadata(self, req: Request) -> dict[str, str]:
        """Replace all metadata."""
        return dict(
            self.actions.set_metadata(
                req.ctx, *self._ids(req), values=req.body, replace=True, **self.more(req)
            )
        )

    def get_metadata_item(self, req: Request) -> dict[str, str]:
        """Show one key of the metadata."""
        return get_pair(self.actions.metadata(req.ctx, *self._ids(req)), req.params['key'], 'metadata item')

    def set_metadata_item(self, req: Request) -> dict[str, str]:
        """Set one key of the metadata."""
        pair: dict[str, str] = get_pair_of_path(req, 'meta')
        self.actions.set_metadata(req.ctx, *self._ids(req), values=pair, replace=False, **self.more(req))
        return pair

    def delete_metadata(self, req: Request) -> None:
        """Delete one key of the metadata."""
        self.actions.delete_metadata(req.ctx, *self._ids(req), key=req.params['key'], **self.more(req))


_ALL = Body('metadata', free=shapes.METADATA)
_ITEM = Body('meta', free=shapes.METADATA, keys=('metadata',))


def metadata_calls(
    path: str, calls: MetadataCalls, rules: str, *, since: str = '2.0', shown: Any = shapes.PAIRS
) -> list[Call]:
    """Return the six calls below ``path``. ``rules``: the names of three rules, with {} for get, update and delete."""
    every, one = f'{path}/metadata', f'{path}/metadata/{{key}}'
    read, change, remove = map(rules.format, ('get', 'update', 'delete'))
    pairs, pair = Plain(shown, 'metadata'), Plain(shown, 'meta')
    return [
        Call('GET', every, calls.named('get_metadata'), read, pairs, since=since),
        Call('POST', every, calls.named('merge_metadata'), change, pairs, since=since, body=_ALL),
        Call('PUT', every, calls.named('replace_metadata'), change, pairs, since=since, body=_ALL),
        Call('GET', one, calls.named('get_metadata_item'), read, pair, since=since),
        Call('POST', one, calls.named('set_metadata_item'), change, pair, since=since, body=_ITEM),
        Call('DELETE', one, calls.named('delete_metadata'), remove, since=since),
    ]
