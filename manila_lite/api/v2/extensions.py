# SPDX-License-Identifier: Apache-2.0
"""Handlers for extensions. Older clients ask for them first; microversions have replaced them."""

from typing import Any, NoReturn

from manila_lite import errors
from manila_lite.api.request import Request


def index(req: Request) -> list[Any]:
    """List API extensions; there are none."""
    return []


def show(req: Request) -> NoReturn:
    """Answer that there is no such extension.

    :raises errors.NotFound: always.
    """
    raise errors.NotFound.of('extension', req.params['alias'])
