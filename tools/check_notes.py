#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse a release note that reno did not name, or that has no known section with text.

Usage: tools/check_notes.py [ROOT]. Make notes with: tox -e newnote -- some-slug
"""

import pathlib
import re
from collections.abc import Iterator

import checked
import fastjsonschema
import yaml

NAME = re.compile(r'^[a-z0-9][a-z0-9.-]*-[0-9a-f]{16}\.yaml$')
_SECTIONS = 'features', 'issues', 'upgrade', 'deprecations', 'critical', 'security', 'fixes', 'other'
_TEXT = {'type': 'string', 'pattern': '\\S'}
check = fastjsonschema.compile(
    {
        'type': 'object',
        'minProperties': 1,
        'additionalProperties': False,
        'properties': {
            'prelude': _TEXT,
            **{name: {'type': 'array', 'minItems': 1, 'items': _TEXT} for name in _SECTIONS},
        },
    }
)


def problems(root: pathlib.Path) -> Iterator[str]:
    """Yield the problems of all notes."""
    for path in sorted((root / 'releasenotes/notes').iterdir()):
        if not NAME.match(path.name):
            yield f'{path}: not a name made by reno; use: tox -e newnote -- some-slug'
        try:
            check(yaml.safe_load(path.read_text()))
        except yaml.YAMLError as error:
            yield f'{path}: not YAML: {str(error).splitlines()[0]}'
        except fastjsonschema.JsonSchemaValueException as error:
            told = error.message.replace('data', 'the note', 1)
            yield f'{path}: {told}; the prelude is a text, and {", ".join(_SECTIONS)} are lists of texts'


if __name__ == '__main__':
    checked.run(problems)
