# SPDX-License-Identifier: Apache-2.0
"""Parts of a transaction that may fail without the whole."""

import contextlib
from collections.abc import Iterator

from oslo_db import exception as oslo_db_exception
from sqlalchemy.engine import Connection


@contextlib.contextmanager
def savepoint(conn: Connection) -> Iterator[None]:
    """Open a savepoint: if the block fails, only its writes are taken back, and the transaction can go on.

    :raises DBDeadlock: the database took back the whole transaction, which may be tried again. At a deadlock MariaDB has no
        savepoint any more, and the error that says so would hide the deadlock.
    """
    try:
        with conn.begin_nested():
            yield
    except oslo_db_exception.DBError as error:
        if isinstance(error.cause, oslo_db_exception.DBDeadlock):
            raise error.cause from None
        raise
