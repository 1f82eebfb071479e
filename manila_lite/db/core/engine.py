# SPDX-License-Identifier: Apache-2.0
"""Transactions: ``with db.writer() as conn`` and ``with db.reader() as conn``.

oslo.db's engines give pooling, exception translation and reconnects. For a SQLite file the engine is tuned as measured: a pool,
WAL, and BEGIN IMMEDIATE for writers, so that two writers queue up and neither is refused.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy
from oslo_db import exception as oslo_db_exception
from oslo_db.sqlalchemy import enginefacade
from sqlalchemy import event, pool
from sqlalchemy.engine import Connection, Engine, Row

from manila_lite import trace
from manila_lite.db.core import connection_url, idle_connections, prepared, row_locks, statement_events
from manila_lite.db.core.conflicts import TRANSIENT, CommitLost, filters, repeating, retry, retry_all
from manila_lite.db.core.savepoints import savepoint
from manila_lite.db.core.unit_of_work import UnitOfWork

__all__ = ['TRANSIENT', 'UNUSABLE', 'Connection', 'Database', 'Row', 'insert_ignore', 'retry', 'retry_all']

_Result = TypeVar('_Result')

_BUSY_TIMEOUT_MS = 10000
#: Seconds for which a connection may take, and for which a hurried command waits for one.
_PATIENCE, _HURRIED = 10, 5

#: Errors of a database that cannot be reached, or is not a database.
UNUSABLE = (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.OperationalError, oslo_db_exception.DBError)


#: The error of libpq since version 14 if there is no connection, but may be one later; oslo.db knows older wordings.
AWAY = (
    r'.*connection to server .*failed:(?!.*(authentication failed|does not exist|pg_hba.conf|not permitted))'
)


@filters('postgresql', sqlalchemy.exc.OperationalError, AWAY)
def _unreachable(error: Any, match: Any, engine_name: str, is_disconnect: bool) -> None:
    raise oslo_db_exception.DBConnectionError(error)


def is_lost(error: BaseException) -> bool:
    """Say whether an error means that the database does not answer, or that a connection to it broke."""
    return isinstance(error, oslo_db_exception.DBConnectionError) or (
        isinstance(error, sqlalchemy.exc.DBAPIError) and error.connection_invalidated
    )


class Database:
    """One database for one process. It connects when first used, so that it may be created before a fork.

    ``migrations``: the folder of its schema's revisions, if not that of the share service. ``lock`` makes the lock
    behind which threads that write to SQLite queue up; a simulation passes another. ``hurried``: fail within seconds if the
    database is away, since somebody waits at a terminal, and can try again.
    """

    def __init__(
        self,
        conf: Any,
        migrations: Path | None = None,
        lock: Callable[[], Any] = threading.Lock,
        *,
        hurried: bool = False,
    ):
        self._conf = conf
        self._hurried = hurried
        self.migrations = migrations
        self._lock = threading.Lock()
        self._turn = lock()
        self._own = threading.local()  # of each thread
        self._engines: tuple[Engine, Engine] | None = None  # of writers and of readers

    @property
    def engine(self) -> Engine:
        """The engine, created at the first call."""
        return self._both()[0]

    def _both(self) -> tuple[Engine, Engine]:
        engines = self._engines
        if engines is None:
            with self._lock:
                engines = self._engines = self._engines or self._start()
        return engines

    def _start(self) -> tuple[Engine, Engine]:
        """Return the engines. :raises errors.BadConfig: the URL is none, or its driver is missing."""
        connection_url.check(self._conf.database.connection)
        manager = enginefacade.transaction_context()
        options = dict(self._conf.database)
        full = options.pop('sqlite_synchronous_full')
        size = options.pop('sqlite_pool_size')
        known = {
            key: value
            for key, value in options.items()
            if key
            in (
                'connection',
                'slave_connection',
                'connection_recycle_time',
                'max_pool_size',
                'max_overflow',
                'pool_timeout',
                'connection_debug',
                'connection_trace',
                'mysql_sql_mode',
                'mysql_wsrep_sync_wait',
            )
        }
        # oslo.db would try for minutes, in the thread that comes first, and no signal could end that. Services try again
        # by themselves, and requests have an answer.
        known['max_retries'] = 0
        for name in ('connection', 'slave_connection'):
            if known[name]:
                known[name] = _with_timeout(known[name], _HURRIED if self._hurried else _PATIENCE)
        # thread_checkin is for green threads: it yields the processor at the end of each transaction.
        manager.configure(sqlite_fk=True, thread_checkin=False, **known)
        engine = manager.writer.get_engine()
        if engine.dialect.name == 'sqlite':
            self._tune_sqlite(engine, full, size)
        elif engine.dialect.name in ('mysql', 'mariadb'):
            _tune_mariadb(engine, known['mysql_wsrep_sync_wait'])
        statement_events.observe(
            engine, traced=trace.is_on(self._conf) and self._conf.profiler.trace_sqlalchemy
        )
        reader = manager.reader.get_engine()
        for one in {engine, reader}:  # they are the same, unless reads have a connection of their own
            idle_connections.tune(one)
        return engine, reader

    def _tune_sqlite(self, engine: Engine, full: bool, size: int) -> None:
        if engine.url.database not in (None, '', ':memory:'):
            # oslo.db insists on NullPool for files; there is no public way to change it afterwards.
            old = engine.pool
            engine.pool = pool.QueuePool(
                old._creator,
                pool_size=size,
                max_overflow=size,
                _dispatch=old.dispatch,
                dialect=engine.dialect,
            )
        synchronous = 'FULL' if full else 'NORMAL'

        @event.listens_for(engine, 'connect')
        def connected(dbapi: Any, record: Any) -> None:
            for pragma in (
                f'busy_timeout={_BUSY_TIMEOUT_MS}',
                'journal_mode=WAL',
                f'synchronous={synchronous}',
                'foreign_keys=ON',
            ):
                dbapi.execute(f'PRAGMA {pragma}')

        for deferred in list(engine.dispatch.begin):  # oslo.db's own, which begins deferred
            event.remove(engine, 'begin', deferred)

        @event.listens_for(engine, 'begin')
        def begun(conn: Connection) -> None:
            # A deferred BEGIN that becomes a writer later is refused at once under contention.
            prepared.send(conn, 'BEGIN' if getattr(self._own, 'later', None) is None else 'BEGIN IMMEDIATE')

    def writer(self) -> contextlib.AbstractContextManager[Connection]:
        """Open a transaction: everything written through the connection is committed together at the end, or nothing is."""
        whole = self._whole()
        return self._transaction() if whole is None else whole.part()

    def write(self, work: Callable[[Connection], _Result]) -> _Result:
        """Do the work in a transaction, and again if the database took it back for another one. Return its result."""
        return repeating(self._write_once)(work)

    def _write_once(self, work: Callable[[Connection], _Result]) -> _Result:
        with self.writer() as conn:
            return work(conn)

    def reader(self) -> contextlib.AbstractContextManager[Connection]:
        """Open a connection whose reads all see one state of the database."""
        whole = self._whole()
        return (
            self._read_only()
            if whole is None or not whole.begun
            else contextlib.nullcontext(whole.connection)
        )

    @contextlib.contextmanager
    def together(self) -> Iterator[UnitOfWork]:
        """Commit everything that this thread writes within the context together at the end, or nothing.

        The transaction begins with the first ``writer``; reads before that block no other thread.
        """
        with contextlib.ExitStack() as stack:
            whole = self._own.whole = UnitOfWork(lambda: stack.enter_context(self._transaction()))
            try:
                yield whole
            finally:
                self._own.whole = None

    def afterwards(self, call: Callable[[], None]) -> None:
        """Call ``call`` after this thread's transaction is committed, if it is writing; else now. Without a commit, never."""
        later: list[Callable[[], None]] | None = getattr(self._own, 'later', None)
        if later is None:
            call()
        else:
            later.append(call)

    def _whole(self) -> UnitOfWork | None:
        return getattr(self._own, 'whole', None)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Connection]:
        engine = self.engine
        # SQLite has one writer, and lets others sleep and retry: threads of one process queue up here instead. A thread
        # that waited for the whole timeout tries all the same, and gets SQLite's own error.
        queues = engine.dialect.name == 'sqlite' and self._turn.acquire(timeout=_BUSY_TIMEOUT_MS / 1000)
        later: list[Callable[[], None]] = []
        self._own.later, written = later, False
        try:
            with _interrupts(), engine.connect() as conn, _ended(conn), conn.begin():
                yield conn
                written = True
        except oslo_db_exception.DBConnectionError as lost:
            if not written:
                raise
            raise CommitLost(lost) from lost
        finally:
            self._own.later = None
            if queues:
                self._turn.release()
        for call in later:
            call()

    @contextlib.contextmanager
    def _read_only(self) -> Iterator[Connection]:
        with _interrupts(), self._both()[1].connect() as conn:
            conn.begin()
            yield conn  # to close the connection ends the transaction

    def dispose(self) -> None:
        """Close all connections."""
        with self._lock:
            for engine in self._engines or ():
                engine.dispose()
            self._engines = None


@contextlib.contextmanager
def _interrupts() -> Iterator[None]:
    """Let Ctrl-C through. It breaks off a statement, and the cleaning up after that may fail: this error would look like a lost
    connection, after which programs go on.
    """
    try:
        yield
    except Exception as bad:
        behind: BaseException | None = bad
        while behind is not None and not isinstance(behind, KeyboardInterrupt):
            behind = behind.__context__
        if behind is None:
            raise
        raise behind from None


@contextlib.contextmanager
def _ended(conn: Connection) -> Iterator[None]:
    """Roll back after an error. If it was the COMMIT that failed, SQLAlchemy takes the transaction for ended, and a file of
    SQLite would stay locked.
    """
    try:
        yield
    except BaseException:
        try:
            if not (conn.closed or conn.invalidated):
                conn.connection.rollback()
        except Exception:
            conn.invalidate()
        raise


def _with_timeout(connection: str, seconds: int) -> str:
    """Return the URL with a timeout of connecting, unless it has one: some drivers wait for minutes."""
    url = sqlalchemy.make_url(connection)
    if url.get_backend_name() == 'sqlite' or 'connect_timeout' in url.query:
        return connection
    return url.update_query_dict({'connect_timeout': str(seconds)}).render_as_string(hide_password=False)


def _tune_mariadb(engine: Engine, sync_wait: int | None) -> None:
    @event.listens_for(engine, 'connect')
    def connected(dbapi: Any, record: Any) -> None:
        # As on PostgreSQL: reads after a lock was taken see everything that was committed before. By default they would
        # see the state of the transaction's first read.
        with dbapi.cursor() as cursor:
            cursor.execute('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
            cursor.execute("SHOW GLOBAL VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON'")
            record.info[row_locks.IS_NODE] = is_node = bool(cursor.fetchall())
            if is_node and sync_wait is None:
                # Reads see what was committed on any node before, as clients of several hosts expect.
                cursor.execute('SET SESSION wsrep_sync_wait = 1')

    engine.dispose()  # oslo.db opened a connection before this listener existed


def insert_ignore(conn: Connection, table: sqlalchemy.Table, values: dict[str, Any]) -> bool:
    """Insert a row unless there is one with the same key. Say whether it was inserted."""
    try:
        with savepoint(conn):
            conn.execute(table.insert().values(**values))
    except oslo_db_exception.DBDuplicateEntry:
        return False
    return True
