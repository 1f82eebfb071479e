# SPDX-License-Identifier: Apache-2.0
"""Statements as parts of the traces of osprofiler."""

from typing import Any

from osprofiler import profiler
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine


def observe(engine: Engine) -> None:
    """Trace the engine's statements."""
    event.listen(engine, 'before_cursor_execute', _begin)
    event.listen(engine, 'after_cursor_execute', _end)
    event.listen(engine, 'handle_error', _fail)


def _begin(conn: Connection, cursor: Any, statement: str, *rest: Any) -> None:
    profiler.start('db', info={'db': {'statement': statement}})


def _end(*rest: Any) -> None:
    profiler.stop()


def _fail(seen: Any) -> None:
    if seen.cursor is not None:  # else no statement had begun
        profiler.stop(info={'etype': type(seen.original_exception).__name__})
