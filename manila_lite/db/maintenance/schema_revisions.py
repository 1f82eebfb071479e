# SPDX-License-Identifier: Apache-2.0
"""Which revision the schema is at, and which there are.

Without alembic, whose packages take 5 MiB, and 10 beside Pygments: every service asks at its start, and hardly one ever
changes the schema.
"""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db.core.engine import Database

#: The folder of the share service's revisions.
FOLDER = Path(__file__).parents[1] / 'migrations'

_TABLE = sa.table('alembic_version', sa.column('version_num'))


def read(conn: Connection) -> str | None:
    """Return the revision that the schema of this connection is at, or None for an empty database."""
    if not sa.inspect(conn).has_table(_TABLE.name):
        return None
    return conn.execute(sa.select(_TABLE.c.version_num)).scalar()


def current(db: Database) -> str | None:
    """Return the revision that the schema is at, or None for an empty database."""
    with db.engine.connect() as conn:
        return read(conn)


def has_table(db: Database, table: str) -> bool:
    """Say whether there is a table of this name."""
    return sa.inspect(db.engine).has_table(table)


def revisions(db: Database) -> list[str]:
    """Return all revisions, oldest first: each is the number at the beginning of its file's name."""
    return sorted(
        path.name.partition('_')[0] for path in ((db.migrations or FOLDER) / 'versions').glob('[0-9]*.py')
    )


def head(db: Database) -> str:
    """Return the newest revision."""
    return revisions(db)[-1]


def is_newer(db: Database) -> bool:
    """Say whether the schema is of a later release, as after an upgrade whose services were taken back."""
    return current(db) not in (None, *revisions(db))


def is_older(db: Database) -> bool:
    """Say whether the schema is of an earlier release, or there is none."""
    return current(db) in (None, *revisions(db)[:-1])
