# SPDX-License-Identifier: Apache-2.0
"""Answers of a Ceph cluster to commands, and the exceptions for a refusal and for no answer."""

import contextlib
import dataclasses
import errno
import json
from collections.abc import Iterator
from typing import Any

from manila_lite import errors

#: Statuses of a cluster whose manager or metadata server is just starting: the command works a little later.
NOT_YET = frozenset({errno.ENOTSUP, errno.ETIMEDOUT, errno.ESHUTDOWN, errno.ENOTCONN})


class Refused(errors.ManilaLiteError):
    """Ceph refused a command. ``number`` is the ``errno`` of its answer."""

    code = 'ceph_refused'

    def __init__(self, what: str, number: int, said: str):
        super().__init__(f'Ceph refused "{what}": {said or errno.errorcode.get(number, number)}')
        self.number = number
        self.said = said


@contextlib.contextmanager
def tolerated(*numbers: int) -> Iterator[None]:
    """Leave the block, and go on behind it, if Ceph refuses a command with one of these numbers."""
    try:
        yield
    except Refused as refused:
        if refused.number not in numbers:
            raise


class Away(errors.ManilaLiteError):
    """The cluster, its manager or a metadata server does not answer at the moment."""

    code = 'ceph_away'


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to one command: ``number`` is 0 or a positive ``errno``, ``said`` the text for people."""

    number: int
    output: str = ''
    said: str = ''

    @property
    def content(self) -> Any:
        """The output as JSON, or the text if it is none, such as a key or a path."""
        text = self.output.strip()
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            return text
