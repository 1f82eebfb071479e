# SPDX-License-Identifier: Apache-2.0
"""The effort of a database for a statement: the rows that a server reads, or the steps of SQLite's machine, in tens."""

import contextlib
import threading

import sqlalchemy as sa


def sent(engine, ask):
    """Return the statements that this thread sends in a call, with their values as the driver gets them."""
    found, me = [], threading.get_ident()

    def saw(conn, cursor, text, values, context, many):
        if threading.get_ident() == me and not text.startswith('BEGIN'):
            found.append((text, values))

    sa.event.listen(engine, 'before_cursor_execute', saw)
    try:
        ask()
    finally:
        sa.event.remove(engine, 'before_cursor_execute', saw)
    return found


def of(engine, text, values):
    """Return the effort of the database for a SELECT."""
    with contextlib.closing(engine.raw_connection()) as conn, contextlib.closing(conn.cursor()) as cursor:
        try:
            return _COUNT[engine.dialect.name](conn.driver_connection, cursor, text, values)
        finally:
            conn.rollback()  # the pool does not


def learn(engine):
    """Have a server look at its tables, as it does by itself some time after rows were written in bulk."""
    words = {
        'postgresql': 'ANALYZE',
        'mysql': f'ANALYZE TABLE {", ".join(sa.inspect(engine).get_table_names())}',
    }
    if order := words.get(engine.dialect.name):
        with engine.connect().execution_options(isolation_level='AUTOCOMMIT') as conn:
            conn.exec_driver_sql(order)


def _sqlite(driver, cursor, text, values):
    steps = []
    driver.set_progress_handler(lambda: steps.append(1) and None, 10)
    try:
        cursor.execute(text, values)
        cursor.fetchall()
    finally:
        driver.set_progress_handler(None, 0)
    return len(steps)


def _mysql(driver, cursor, text, values):
    def reads():
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(value) for _, value in cursor.fetchall())

    before = reads()
    cursor.execute(text, values)
    cursor.fetchall()
    return reads() - before


def _postgresql(driver, cursor, text, values):
    cursor.execute(f'EXPLAIN (ANALYZE, FORMAT JSON) {text}', values)
    [(plan,)] = cursor.fetchall()
    return _read(plan[0]['Plan'])


def _read(node):
    """Return the number of rows that a plan of PostgreSQL has read."""
    read = (
        node['Actual Rows']
        + node.get('Rows Removed by Filter', 0)
        + node.get('Rows Removed by Join Filter', 0)
    )
    return int(read * node['Actual Loops']) + sum(map(_read, node.get('Plans', ())))


_COUNT = {'sqlite': _sqlite, 'mysql': _mysql, 'postgresql': _postgresql}
