#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse a release note that reno did not name, or that has no known section with text.

Usage: tools/check_notes.py [ROOT]. Make notes with: tox -e newnote -- some-slug
"""

import pathlib
import re
import sys
from collections.abc import Iterator

import yaml

NAME = re.compile(r'^[a-z0-9][a-z0-9.-]*-[0-9a-f]{16}\.yaml$')
SECTIONS = {
    'prelude',
    'features',
    'issues',
    'upgrade',
    'deprecations',
    'critical',
    'security',
    'fixes',
    'other',
}


def problems(path: pathlib.Path) -> Iterator[str]:
    """Yield the problems of one note."""
    if not NAME.match(path.name):
        yield 'not a name made by reno; use: tox -e newnote -- some-slug'
    try:
        note = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        yield f'not YAML: {str(error).splitlines()[0]}'
        return
    if not isinstance(note, dict) or not note:
        yield 'has no section'
        return
    for section, text in note.items():
        if section not in SECTIONS:
            yield f'unknown section {section!r}; known are {", ".join(sorted(SECTIONS))}'
        elif section == 'prelude':
            if not isinstance(text, str) or not text.strip():
                yield 'prelude must be text'
        elif (
            not isinstance(text, list)
            or not text
            or not all(isinstance(item, str) and item.strip() for item in text)
        ):
            yield f'{section} must be a list of texts'


def main(root: pathlib.Path) -> int:
    bad = 0
    for path in sorted((root / 'releasenotes/notes').iterdir()):
        for wrong in problems(path) if path.name != '.placeholder' else ():
            print(f'{path}: {wrong}')
            bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])))
