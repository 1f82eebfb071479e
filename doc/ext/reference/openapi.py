# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI documents of some microversions, as files beside the page about them."""

import pathlib
from collections.abc import Iterator

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.http import openapi

#: The first, the one that most clients use, the newest.
VERSIONS = (versions.MIN, 65, versions.MAX)


def lines() -> Iterator[str]:
    """Yield a list of the files."""
    yield from (f'* `{_file(version)} <{_file(version)}>`__' for version in VERSIONS)


def write(folder: pathlib.Path) -> None:
    """Write the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for version in VERSIONS:
        (folder / _file(version)).write_bytes(openapi.text(version))


def _file(version: int) -> str:
    return f'openapi-{versions.show(version)}.json'
