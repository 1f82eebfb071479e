# SPDX-License-Identifier: Apache-2.0
"""The lookup of a contract row by method and path: a tree of path segments, built once."""

import dataclasses
from collections.abc import Iterable

from manila_lite.api.framework.call import Call

#: The parameter that takes the rest of the path: keys of metadata and of specs may hold slashes, as they are in the body.
REST = 'key'


@dataclasses.dataclass
class _Node:
    fixed: dict[str, '_Node'] = dataclasses.field(default_factory=dict)
    wild: '_Node | None' = None
    wild_name: str = ''
    calls: list[Call] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Match:
    """All calls of a path that exist at the version, and the values in the path.

    ``skipped``: the last part, if it also follows the id in other paths: some clients leave out an empty id.
    """

    calls: tuple[Call, ...]
    params: dict[str, str]
    skipped: str | None = None


class Routes:
    """The contract as a tree; project ids in front of a path are optional at every version."""

    def __init__(self, calls: Iterable[Call]):
        self._root = _Node()
        for call in calls:
            for path in {call.path, call.old_path or call.path}:
                self._add(path, call)

    def _add(self, path: str, call: Call) -> None:
        node = self._root
        for part in path.strip('/').split('/'):
            if part.startswith('{'):
                node.wild = node.wild or _Node()
                node.wild_name = node.wild_name or part.strip('{}')
                node = node.wild
            else:
                node = node.fixed.setdefault(part, _Node())
        node.calls.append(call)

    def find(self, parts: list[str], version: int) -> Match | None:
        """Return the calls of a path (already split), or None."""
        match = self._walk(parts, version)
        if match is None and parts and parts[0]:
            match = self._walk(parts[1:], version)
            if match:
                match.params['project_id'] = parts[0]
        return match

    def _walk(self, parts: list[str], version: int) -> Match | None:
        params: dict[str, str] = {}
        node = self._root
        names: list[str] = []
        for index, found in enumerate(parts):
            part = '/'.join(parts[index:]) if node.wild_name == REST else found
            if part in node.fixed:
                node = node.fixed[part]
            elif node.wild is not None and part:
                params[node.wild_name] = part
                node = node.wild
            else:
                return None
            names.append(part)
            if REST in params:
                break
        calls = tuple(
            call for call in node.calls if call.lives(version) and _fits(call.path_at(version), names)
        )
        return Match(calls, params, names[-1] if names[-1] in node.fixed else None) if calls else None


def _fits(path: str, names: list[str]) -> bool:
    parts = path.strip('/').split('/')
    return len(parts) == len(names) and all(
        part.startswith('{') or part == name for part, name in zip(parts, names, strict=True)
    )
