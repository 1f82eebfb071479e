# SPDX-License-Identifier: Apache-2.0
"""Folders of images: the operator's images, for all projects, in the directory itself; below it one folder for each
project alone.

The API checks that the name of an image has no directory in it. The id of a project cannot be trusted: without
Keystone, the client writes it into its token.
"""

import hashlib
import re
from pathlib import Path

_PROJECTS = 'projects'
_PLAIN = re.compile(r'[A-Za-z0-9_-]{1,64}')


def own(images: Path, project_id: str) -> Path:
    """Return the folder of a project's images; it differs for any two project ids."""
    # A plain name has no dot, so the two forms never collide.
    name = (
        project_id
        if _PLAIN.fullmatch(project_id)
        else f'sha256.{hashlib.sha256(project_id.encode()).hexdigest()}'
    )
    return images / _PROJECTS / name


def find(images: Path, project_id: str, name: str) -> Path:
    """Return the file of an image for a project: its own image of that name, else the operator's, which may not exist."""
    mine = own(images, project_id) / name
    return mine if mine.is_file() else images / name


def public(images: Path) -> frozenset[str]:
    """Return the names of the operator's images."""
    if not images.is_dir():
        return frozenset()
    return frozenset(
        path.name for path in images.iterdir() if not path.name.startswith('.') and path.is_file()
    )
