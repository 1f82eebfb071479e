# SPDX-License-Identifier: Apache-2.0
"""The schema's revisions, by alembic."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa
from alembic import command, context, migration
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from manila_lite import errors
from manila_lite.db.core import repeatable_revisions
from manila_lite.db.core.engine import Database

_HERE = Path(__file__).parents[1] / 'migrations'
#: The database lock for changes of the schema; and how long to wait for another process, in seconds.
_LOCK, _PATIENCE = 0x6d6c697465, 600


def _config(db: Database) -> Config:
    config = Config()
    config.set_main_option('script_location', str(db.migrations or _HERE))
    config.attributes['engine'] = db.engine
    return config


def run(metadata: sa.MetaData) -> None:
    """Run the alembic command on these tables. For the ``env.py`` of a folder of revisions."""
    attributes = context.config.attributes
    with attributes['engine'].begin() as connection, _in_turn(connection):
        if 'known' in attributes and _revision(connection) not in (None, *attributes['known']):
            return
        repeatable_revisions.skip_what_is_done(connection)
        context.configure(connection=connection, target_metadata=metadata,
                          render_as_batch=connection.dialect.name == 'sqlite', compare_type=True)
        context.run_migrations()


@contextlib.contextmanager
def _in_turn(conn: Connection) -> Iterator[None]:
    """Let one host at a time change the schema; the others find it done. SQLite is used by one host only.

    :raises errors.Unavailable: another process takes too long.
    """
    if conn.dialect.name == 'postgresql':
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    if conn.dialect.name not in ('mysql', 'mariadb'):
        yield
        return
    name = sa.func.md5(sa.func.concat(_LOCK, sa.func.database()))       # its locks are of the whole server
    if not conn.execute(sa.select(sa.func.get_lock(name, _PATIENCE))).scalar():
        raise errors.Unavailable('another process is changing the schema of the database; try again when it is done')
    try:
        yield
    except BaseException:
        conn.invalidate()       # a lock ends with its connection; a pooled connection would keep it
        raise
    conn.execute(sa.select(sa.func.release_lock(name)))


def upgrade(db: Database, revision: str = 'head') -> None:
    """Bring the schema to ``revision``. Let a schema of a later release be: it only has more."""
    config = _config(db)
    config.attributes['known'] = revisions(db)
    command.upgrade(config, revision)


def stamp(db: Database, revision: str) -> None:
    """Mark the schema as being at ``revision`` without changing it."""
    command.stamp(_config(db), revision)


def current(db: Database) -> str | None:
    """Return the revision that the schema is at, or None for an empty database."""
    with db.engine.connect() as conn:
        return _revision(conn)


def _revision(conn: Connection) -> str | None:
    return migration.MigrationContext.configure(conn).get_current_revision()


def is_newer(db: Database) -> bool:
    """Say whether the schema is of a later release, as after an upgrade whose services were taken back."""
    return current(db) not in (None, *revisions(db))


def is_older(db: Database) -> bool:
    """Say whether the schema is of an earlier release, or there is none."""
    return current(db) in (None, *revisions(db)[:-1])


def head(db: Database) -> str:
    """Return the newest revision."""
    return ScriptDirectory.from_config(_config(db)).get_current_head() or ''


def revisions(db: Database) -> list[str]:
    """Return all revisions, oldest first."""
    return [script.revision for script in ScriptDirectory.from_config(_config(db)).walk_revisions()][::-1]
