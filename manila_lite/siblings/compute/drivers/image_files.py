# SPDX-License-Identifier: Apache-2.0
"""Where images lie: the operator's in the directory itself, for all, and below it a folder for each project, for nobody else.

A name is a file's, checked by the API to have no directory in it. A project's is none that can be trusted: without Keystone
it is what somebody wrote into a token.
"""

import hashlib
import re
from pathlib import Path

_PROJECTS = 'projects'
_PLAIN = re.compile(r'[A-Za-z0-9_-]{1,64}')


def own(images: Path, project_id: str) -> Path:
    """Return the folder of a project's images: no two projects have the same, whatever they are called."""
    # The dot is in no plain name.
    name = project_id if _PLAIN.fullmatch(project_id) else f'sha256.{hashlib.sha256(project_id.encode()).hexdigest()}'
    return images / _PROJECTS / name


def find(images: Path, project_id: str, name: str) -> Path:
    """Return the file of an image as a project sees it: its own of that name, else the operator's, which may not be there."""
    mine = own(images, project_id) / name
    return mine if mine.is_file() else images / name


def public(images: Path) -> frozenset[str]:
    """Return the names of the operator's images."""
    if not images.is_dir():
        return frozenset()
    return frozenset(path.name for path in images.iterdir() if not path.name.startswith('.') and path.is_file())
