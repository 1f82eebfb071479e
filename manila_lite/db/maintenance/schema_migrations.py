# SPDX-License-Identifier: Apache-2.0
"""Changes of the schema, by alembic."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

import sqlalchemy as sa
from alembic import command, context
from alembic.config import Config
from oslo_db import api as oslo_db_api
from oslo_db import exception as oslo_db_exception
from sqlalchemy.engine import Connection

from manila_lite import errors
from manila_lite.db.core import repeatable_revisions
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_revisions

LOG = logging.getLogger(__name__)

#: The database lock for changes of the schema; and how long to wait for another process, in seconds.
_LOCK, _PATIENCE = 0x6D6C697465, 600
#: Seconds that a change waits for transactions that use its table, and then lets those that wait behind it go on.
_GIVE_WAY, _PAUSE = 2, 1
#: Limit that wait in a transaction, or until the end of the connection.
_LIMITS = {
    'postgresql': f"SET LOCAL lock_timeout = '{_GIVE_WAY}s'",
    'mysql': f'SET SESSION lock_wait_timeout = {_GIVE_WAY}',
    'mariadb': f'SET SESSION lock_wait_timeout = {_GIVE_WAY}',
}


def _config(db: Database) -> Config:
    config = Config()
    config.set_main_option('script_location', str(db.migrations or schema_revisions.FOLDER))
    config.attributes['engine'] = db.engine
    return config


def run(metadata: sa.MetaData) -> None:
    """Run the alembic command on these tables. For the ``env.py`` of a folder of revisions."""
    attributes = context.config.attributes
    with attributes['engine'].begin() as connection, _in_turn(connection):
        if 'known' in attributes and schema_revisions.read(connection) not in (None, *attributes['known']):
            return
        if limit := _LIMITS.get(connection.dialect.name):
            connection.exec_driver_sql(limit)
        repeatable_revisions.skip_what_is_done(connection)
        context.configure(
            connection=connection,
            target_metadata=metadata,
            render_as_batch=connection.dialect.name == 'sqlite',
            compare_type=True,
        )
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
    name = sa.func.md5(sa.func.concat(_LOCK, sa.func.database()))  # its locks are of the whole server
    if not conn.execute(sa.select(sa.func.get_lock(name, _PATIENCE))).scalar():
        raise errors.Unavailable(
            'another process is changing the schema of the database; try again when it is done'
        )
    try:
        yield
    except BaseException:
        conn.invalidate()  # a lock ends with its connection; a pooled connection would keep it
        raise
    conn.execute(sa.select(sa.func.release_lock(name)))


def _is_in_use(error: Exception) -> bool:
    """Say whether an error is that of a table which a transaction has used for too long."""
    if in_use := isinstance(error, oslo_db_exception.DBDeadlock):
        LOG.warning(
            'The schema cannot be changed while a transaction uses the table: it is tried again in %d s',
            _PAUSE,
        )
    return in_use


_Work = TypeVar('_Work', bound=Callable[..., None])
_patiently: Callable[[_Work], _Work] = oslo_db_api.wrap_db_retry(
    max_retries=_PATIENCE // (_GIVE_WAY + _PAUSE),
    retry_interval=_PAUSE,
    inc_retry_interval=False,
    exception_checker=_is_in_use,
)


@_patiently
def upgrade(db: Database, revision: str = 'head') -> None:
    """Bring the schema to ``revision``. Let a schema of a later release be: it only has more.

    Services may work meanwhile. A change that has to wait for a transaction makes all wait that come after it, and may keep
    that very transaction from its end. So it gives way soon, and is tried again.
    """
    config = _config(db)
    config.attributes['known'] = schema_revisions.revisions(db)
    command.upgrade(config, revision)


def stamp(db: Database, revision: str) -> None:
    """Mark the schema as being at ``revision`` without changing it."""
    command.stamp(_config(db), revision)
