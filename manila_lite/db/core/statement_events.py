# SPDX-License-Identifier: Apache-2.0
"""Observation of statements: errors are counted, values stay out of error messages, and traces hold the statements."""

from typing import Any

from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import event
from sqlalchemy.engine import Engine

from manila_lite import metrics


def observe(engine: Engine, *, traced: bool) -> None:
    """Count the engine's errors, and keep values out of them, which may be users' keys. ``traced``: trace statements."""
    engine.hide_parameters = True
    if engine.dialect.name == 'postgresql':
        # Before oslo.db, which logs the error: error listeners cannot be put first in another way.
        event.remove(engine, 'handle_error', exc_filters.handler)
        event.listen(engine, 'handle_error', _hide_row)
        event.listen(engine, 'handle_error', exc_filters.handler, retval=True)
    event.listen(engine, 'handle_error', _count)
    if traced:
        from manila_lite.db.core import statement_traces  # needs osprofiler

        statement_traces.observe(engine)


def _count(seen: Any) -> None:
    metrics.database_error(
        getattr(seen, 'chained_exception', None) or seen.original_exception
    )  # may be an unset slot


#: A null where a value is required, and a value that a check refuses.
_SHOWS_ROW = ('23502', '23514')


def _hide_row(seen: Any) -> None:
    """Shorten the error to its first line: PostgreSQL's includes the whole row."""
    said = getattr(seen.original_exception, 'diag', None)
    if said is None or said.sqlstate not in _SHOWS_ROW:
        return
    whole, short = str(seen.original_exception), said.message_primary
    for error in filter(None, (seen.original_exception, seen.sqlalchemy_exception)):
        error.args = tuple(arg.replace(whole, short) if isinstance(arg, str) else arg for arg in error.args)
