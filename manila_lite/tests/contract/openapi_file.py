# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of the newest microversion, which is in git, so that a diff shows what clients will see.

``python -m manila_lite.tests.contract.openapi_file`` writes doc/openapi.json. Read its diff before you commit it.
"""

import json
import pathlib
from collections.abc import Iterable
from typing import Any

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.http import openapi

FILE = pathlib.Path(__file__).resolve().parents[3] / 'doc' / 'openapi.json'
#: Columns of a line that holds more than one field.
_WIDTH = 160


def served() -> str:
    """Return the text that the file must have: what clients get, in lines."""
    return _lines(json.loads(openapi.text(versions.MAX)), '') + '\n'


def changed_calls(before: str, after: str) -> list[str]:
    """Return the calls, as METHOD PATH, that two documents describe in two ways."""
    old, new = (json.loads(text)['paths'] for text in (before, after))
    return sorted(
        f'{method.upper()} {path}'
        for path in old.keys() | new.keys()
        for method in old.get(path, {}).keys() | new.get(path, {}).keys()
        if old.get(path, {}).get(method) != new.get(path, {}).get(method)
    )


def _lines(node: Any, indent: str) -> str:
    """Return JSON in which whatever is short, and each list of values, has a line."""
    flat = json.dumps(node, ensure_ascii=False)
    if len(indent + flat) <= _WIDTH or not _is_nested(node):
        return flat
    inner = f'{indent} '
    if isinstance(node, dict):
        return _block(
            '{}', indent, (f'{json.dumps(key)}: {_lines(value, inner)}' for key, value in node.items())
        )
    return _block('[]', indent, (_lines(value, inner) for value in node))


def _is_nested(node: Any) -> bool:
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return any(isinstance(part, dict | list) for part in parts)


def _block(ends: str, indent: str, parts: Iterable[str]) -> str:
    return f'{ends[0]}\n' + ',\n'.join(f'{indent} {part}' for part in parts) + f'\n{indent}{ends[1]}'


if __name__ == '__main__':
    FILE.write_text(served())
