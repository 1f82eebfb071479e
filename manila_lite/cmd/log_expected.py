# SPDX-License-Identifier: Apache-2.0
"""Errors in the log that need no traceback: expected ones, which are no fault of the program.

Code that goes on after any error logs it with its traceback, since it may be a bug. The table here knows the errors that are
none, so that the code need not. It is about all lines of a process.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

from manila_lite import errors
from manila_lite.cmd import log_lines
from manila_lite.db.core import conflicts


class _Expected(NamedTuple):
    """An expected error: whether one is it, its words, and the highest level of a line about it."""

    knows: Callable[[BaseException], bool]
    words: Callable[[BaseException], str]
    most: int


def _is_said(error: BaseException) -> bool:
    """Say whether the error was raised on purpose, and hides no other one: its sentence says all."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return isinstance(error, errors.ManilaLiteError) and behind is None


TABLE = (
    # The work is done again.
    _Expected(
        conflicts.is_conflict, lambda error: 'the database let another transaction go first', logging.INFO
    ),
    _Expected(_is_said, str, logging.CRITICAL),
)


class ExpectedFilter(logging.Filter):
    """A filter for handlers that makes one line of an expected error, without its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        row = next((row for row in TABLE if row.knows(error)), None) if error is not None else None
        if error is None or row is None:
            return True
        record.msg, record.args = f'{record.getMessage()}: {row.words(error)}', ()
        record.exc_info = record.exc_text = None
        if record.levelno > row.most:
            record.levelno, record.levelname = row.most, logging.getLevelName(row.most)
        return record.levelno >= logging.getLogger(record.name).getEffectiveLevel()


def install() -> None:
    """Have all lines of the log filtered. Call it whenever handlers may have changed."""
    for handler in log_lines.handlers():
        if not any(isinstance(old, ExpectedFilter) for old in handler.filters):
            handler.addFilter(ExpectedFilter())
