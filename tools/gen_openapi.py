#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write api-ref/openapi-<version>.json from the contract. With --check: exit 1 and a diff if a file is out of date.

Usage: tools/gen_openapi.py [--check] [ROOT]. Read each change of the files: it is a change of the API's answers or requests.
"""

import argparse
import difflib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))

import manila_lite.cmd  # noqa: E402, F401 - first: threads
from manila_lite.api import versions  # noqa: E402
from manila_lite.api.http import openapi  # noqa: E402

#: The first, the one that most clients use, the newest.
VERSIONS = (versions.MIN, 65, versions.MAX)
MOST_LINES = 60
WIDTH = 120


def pretty(value: object, margin: int = 0) -> str:
    """Return JSON with each value on one line that fits there, so that a change is a few lines of a diff."""
    flat = json.dumps(value)
    if len(flat) + margin <= WIDTH or not isinstance(value, (dict, list)):
        return flat
    inner = margin + 1
    if isinstance(value, list):
        rows = [pretty(item, inner) for item in value]
    else:
        rows = [f'{json.dumps(key)}: {pretty(item, inner)}' for key, item in value.items()]
    opening, closing = '[]' if isinstance(value, list) else '{}'
    return '\n'.join([opening, ',\n'.join(' ' * inner + row for row in rows), ' ' * margin + closing])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('root', nargs='?', type=pathlib.Path, default=HERE)
    asked = parser.parse_args()
    old = False
    for version in VERSIONS:
        path = asked.root / 'api-ref' / f'openapi-{versions.show(version)}.json'
        text = pretty(json.loads(openapi.text(version))) + '\n'
        present = path.read_text() if path.exists() else ''
        if asked.check and text != present:
            old = True
            print(f'{path.relative_to(asked.root)}: is not what the contract says; run tools/gen_openapi.py')
            changes = difflib.unified_diff(present.splitlines(), text.splitlines(), 'file', 'contract', lineterm='', n=1)
            print(*list(changes)[:MOST_LINES], sep='\n')
        elif text != present:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return int(old)


if __name__ == '__main__':
    sys.exit(main())
