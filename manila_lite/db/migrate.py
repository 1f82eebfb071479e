# SPDX-License-Identifier: Apache-2.0
"""The schema's revisions, by alembic."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command, context, migration
from alembic.config import Config
from alembic.script import ScriptDirectory

from manila_lite.db import repeatable
from manila_lite.db.engine import Database

_HERE = Path(__file__).parent / 'migrations'


def _config(db: Database) -> Config:
    config = Config()
    config.set_main_option('script_location', str(db.migrations or _HERE))
    config.attributes['engine'] = db.engine
    return config


def run(metadata: sa.MetaData) -> None:
    """What alembic was asked for is done. For the ``env.py`` of a folder of revisions of these tables."""
    with context.config.attributes['engine'].begin() as connection:
        repeatable.skip_what_is_done(connection)
        context.configure(connection=connection, target_metadata=metadata,
                          render_as_batch=connection.dialect.name == 'sqlite', compare_type=True)
        context.run_migrations()


def upgrade(db: Database, revision: str = 'head') -> None:
    """The schema is at ``revision``."""
    command.upgrade(_config(db), revision)


def stamp(db: Database, revision: str) -> None:
    """The schema counts as being at ``revision``; nothing is changed."""
    command.stamp(_config(db), revision)


def current(db: Database) -> str | None:
    """Return the revision that the schema is at, or nothing for an empty database."""
    with db.engine.connect() as conn:
        return migration.MigrationContext.configure(conn).get_current_revision()


def head(db: Database) -> str:
    """Return the newest revision there is."""
    return ScriptDirectory.from_config(_config(db)).get_current_head() or ''


def revisions(db: Database) -> list[str]:
    """Return every revision there is, oldest first."""
    return [script.revision for script in ScriptDirectory.from_config(_config(db)).walk_revisions()][::-1]
