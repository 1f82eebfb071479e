# SPDX-License-Identifier: Apache-2.0
"""The secrets in the database, as stored. ``encryption/`` decrypts them."""

import contextlib
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db import models
from manila_lite.db.core.engine import Database, insert_ignore

#: The beginning of an encrypted value. Other values were written by a release that did not encrypt.
PREFIX = '$fernet$'

_checks = models.secret_checks
_CHECK = 'check'
#: Every column with secrets, by its name for operators.
COLUMNS = {
    'passwords of security services': models.security_services.c.password,
    'keys of access rules': models.access_rules.c.access_key,
    'keys of hosts that copy shares': models.share_instances.c.copy_client_key,
    'the check of the key': _checks.c.value,
}


class Secret(NamedTuple):
    """One stored secret, and its place."""

    kind: str
    id: str
    value: str


def check(conn: Connection) -> str | None:
    """Return the stored check of the key; None if the database is new."""
    value: str | None = conn.execute(sa.select(_checks.c.value).where(_checks.c.id == _CHECK)).scalar()
    return value


def store_check(conn: Connection, value: str) -> bool:
    """Store the check of the key. Return False if there is one already."""
    return insert_ignore(conn, _checks, {'id': _CHECK, 'value': value})


def list_after(conn: Connection, kind: str, after: str, limit: int) -> list[Secret]:
    """Return the next secrets of a kind in the order of their ids."""
    column, row_id = COLUMNS[kind], COLUMNS[kind].table.c.id
    query = sa.select(row_id, column).where(column.is_not(None), row_id > after).order_by(row_id).limit(limit)
    return [Secret(kind, *row) for row in conn.execute(query)]


def replace(conn: Connection, secret: Secret, value: str) -> bool:
    """Replace the secret's value. Return False if it was changed since it was read."""
    table, column = COLUMNS[secret.kind].table, COLUMNS[secret.kind]
    values = {column: value, **({table.c.updated_at: table.c.updated_at} if 'updated_at' in table.c else {})}
    return bool(
        conn.execute(
            table.update().where(table.c.id == secret.id, column == secret.value).values(values)
        ).rowcount
    )


def overwrite(conn: Connection) -> None:
    """Have SQLite overwrite values that are replaced through this connection from now on. Other databases have VACUUM."""
    if conn.dialect.name == 'sqlite':
        conn.exec_driver_sql('PRAGMA secure_delete=ON')


def empty_log(db: Database) -> None:
    """Empty SQLite's write-ahead log, unless another process is reading it."""
    if db.engine.dialect.name == 'sqlite':
        with contextlib.closing(db.engine.raw_connection()) as raw:
            raw.cursor().execute('PRAGMA wal_checkpoint(TRUNCATE)')
