# SPDX-License-Identifier: Apache-2.0
"""Extensions over HTTP: older clients ask for them before anything else; versions replaced them long ago."""

from typing import Any, NoReturn

from manila_lite import errors
from manila_lite.api.request import Request


def index(req: Request) -> list[Any]:
    """List no extension."""
    return []


def show(req: Request) -> NoReturn:
    """Find no extension.

    :raises errors.NotFound: always.
    """
    raise errors.NotFound.of('extension', req.params['alias'])
