# SPDX-License-Identifier: Apache-2.0
"""Note the SQL statements of a test run on SQLite, as PostgreSQL and MariaDB would get them.

If $MANILA_LITE_TEST_STATEMENTS names a folder, processes of tests and their forks leave a file there, with a line of JSON, for
each different statement of the product: statements differ if their texts do, or the types of their values. The first process
that sends one notes it. ``functional/api/test_statements.py`` lets a server explain them.

Not noted are statements that a test wrote, those of migrations, which are for the schema of their time, and those that the
product writes for SQLite alone: see ``BRANCHES``.
"""

import contextlib
import datetime
import hashlib
import json
import os
import pathlib
import sys

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.sql import visitors
from sqlalchemy.sql.compiler import SQLCompiler

from manila_lite.db.core import prepared

#: Name of the folder for the notes.
FOLDER = 'MANILA_LITE_TEST_STATEMENTS'
#: The databases that a statement is noted for, named as in URLs.
DIALECTS = {
    'sqlite': sqlite.pysqlite.dialect(paramstyle='named'),
    'postgresql': postgresql.psycopg2.dialect(),
    'mysql': mysql.pymysql.dialect(paramstyle='pyformat', is_mariadb=True),
}
#: Files of the product that ask which database they talk to, or use the words of its driver: a server gets something else from
#: them than SQLite. These modules of functional tests have it executed by a server.
BRANCHES = {
    'db/core/collation.py': 'database/test_migrations',
    'db/core/database_clock.py': 'api/test_statements',
    'db/core/engine.py': 'services/test_outages',
    'db/core/key_values.py': 'api/test_statements',
    'db/core/repeatable_revisions.py': 'database/test_repeatable_migrations',
    'db/core/row_locks.py': 'cloud/test_galera',
    'db/core/statement_events.py': 'services/test_outages',
    'db/core/upserts.py': 'shares/test_share_usage',
    'db/maintenance/copy_database.py': 'commands/test_copy_database',
    'db/maintenance/schema_migrations.py': 'database/test_migrations',
    'db/maintenance/secrets.py': 'services/test_secret_keys',
    'db/models/quota_triggers.py': 'database/test_migrations',
    'db/queries/project_turns.py': 'api/test_statements',
    'db/queries/quota_sums.py': 'quotas/test_sums',
}
#: Files that send what another one wrote.
_SENDERS = ('db/core/prepared.py', 'db/core/rows.py', 'tests/statements.py')
_ROOT = f'{pathlib.Path(__file__).resolve().parents[1]}/'

_folder = pathlib.Path(os.environ.get(FOLDER, '.'))

#: What was compiled, by its text on SQLite; the texts among them that were not sent since; what was sent; and what was noted.
_prepared: dict[str, list] = {}
_fresh: set = set()
_sent: set = set()
_noted: set = set()


def listen():
    """Begin to write notes."""
    compile_prepared = prepared._Compiled.of

    def of(statement, dialect, names=None):
        made = compile_prepared(statement, dialect, names)
        if dialect.name == 'sqlite':
            # It may differ from one of the same text in what SQLite does without, as locks.
            _prepared.setdefault(made.text, []).append(statement.compile(dialect=dialect, column_keys=names))
            _fresh.add(made.text)
        return made

    prepared._Compiled.of = of
    sa.event.listen(sa.Engine, 'before_cursor_execute', _send, retval=True)


def _send(conn, cursor, text, values, context, many):
    """Note a statement before it is sent. This is called for each one, and nearly all are known."""
    one = values[0] if many and values else values
    key = (text, _lock(getattr(context, 'compiled', None)), *map(type, one))
    if (key not in _sent or text in _fresh) and conn.dialect.name == 'sqlite':
        _sent.add(key)
        _fresh.discard(text)
        try:
            if False in [_note(compiled, given) for compiled, given in _compiled(text, one, context)]:
                _sent.discard(key)  # the product may send the same
        except Exception as fault:  # the test must not fail for it: test_statements does
            said = f'{text}\n{fault!r}'
            _write(key, lambda: {'where': __name__, 'tables': [], **dict.fromkeys(DIALECTS, (said, None))})
    return text, values


def _lock(compiled):
    """Return what SQLite does without: statements with different locks have the same text."""
    lock = getattr(getattr(compiled, 'statement', None), '_for_update_arg', None)
    return None if lock is None else (lock.read, lock.key_share, lock.nowait, lock.skip_locked)


def _compiled(text, values, context):
    """Yield what the statement was compiled from, and its values by name, as they were before their conversion for SQLite."""
    if context is None:
        for compiled in _prepared.get(text, ()):
            yield (
                compiled,
                {
                    name: _before(compiled.binds[name].type, value)
                    for name, value in zip(compiled.positiontup, values, strict=True)
                },
            )
    elif isinstance(context.compiled, SQLCompiler):
        yield context.compiled, (context.compiled_parameters or [{}])[0]


def _before(kind, value):
    if value is not None and isinstance(kind, sa.DateTime):
        return datetime.datetime.fromisoformat(value)
    return bool(value) if value is not None and isinstance(kind, sa.Boolean) else value


def _note(compiled, values):
    """Note the statement if it is a new one. Return False for one of a test or a migration."""
    statement = compiled.statement
    key = (
        compiled.string,
        _lock(compiled),
        *getattr(statement, '_hints', {}).values(),
        *sorted((name, type(value).__name__) for name, value in values.items()),
    )
    if key in _noted or 'savepoint' in statement.__visit_name__:
        return True
    if (
        getattr(statement, '_post_values_clause', None) is not None
    ):  # ON CONFLICT: servers get it from BRANCHES
        return True
    where = _writer()
    if not where or where.startswith('tests/'):
        return False
    _noted.add(key)
    _write(key, lambda: {'where': f'manila_lite/{where}', **of(compiled, values)})
    return True


def of(compiled, values):
    """Return a statement that was compiled for SQLite as each database gets it: the text, and the values for the driver."""
    tables = {
        element.name for element in visitors.iterate(compiled.statement) if isinstance(element, sa.Table)
    }
    return {
        'tables': sorted(tables),
        **{name: _for(dialect, compiled, values) for name, dialect in DIALECTS.items()},
    }


def _for(dialect, compiled, values):
    try:
        made = compiled.statement.compile(
            dialect=dialect, column_keys=compiled.column_keys, for_executemany=compiled.for_executemany
        )
    except Exception as error:  # an element of SQLite's may break another dialect's compiler anyhow
        return f'{compiled.string}\n{error!r}', None
    # Names that SQLAlchemy makes depend on the dialect's order of words.
    same = {
        name: values.get(compiled.bind_names.get(bind, name), bind.value)
        for bind, name in made.bind_names.items()
    }
    state = made.construct_expanded_state(same)
    change = {**made._bind_processors, **state.processors}
    return state.statement, {
        name: change[name](value) if name in change else value for name, value in state.parameters.items()
    }


def _writer():
    """Return the place of the code whose statement is sent; '' for a migration."""
    found, frame = '', sys._getframe()
    while frame:
        file = frame.f_code.co_filename
        if '/alembic/' in file:
            return ''
        if not found and file.startswith(_ROOT) and file[len(_ROOT) :] not in _SENDERS:
            found = f'{file[len(_ROOT) :]}:{frame.f_lineno}'
        frame = frame.f_back
    return found


def _write(key, make):
    """Write the note that ``make`` makes, unless a process has noted the key."""
    name = hashlib.sha256(repr(key).encode()).hexdigest()
    with contextlib.suppress(FileExistsError), (_folder / name).open('x') as file:
        file.write(json.dumps(make(), default=lambda value: {type(value).__name__: str(value)}) + '\n')


def read(folder):
    """Return all notes of a run."""
    return [
        json.loads(line)
        for path in sorted(pathlib.Path(folder).iterdir())
        for line in path.read_text().splitlines()
    ]


def values(noted):
    """Return the values of a note as the driver takes them: what JSON has not was noted with the name of its type."""
    return {
        name: datetime.datetime.fromisoformat(*value.values()) if isinstance(value, dict) else value
        for name, value in noted.items()
    }
