# SPDX-License-Identifier: Apache-2.0
"""Names compare exactly on MariaDB too: by default ``A`` is ``a`` there, and also ``a`` with a blank at the end.

Nothing can collide that did not before, so any rows will do. The collation also becomes the database's, for tables of
later revisions. MariaDB cannot take a change of the schema back: cut off, this one can be run again.
"""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op
from sqlalchemy.engine import Connection

revision = '0003'
down_revision = '0002'

#: Without padding, so that blanks at the end count; MySQL calls its own differently.
_EXACT = {True: 'utf8mb4_nopad_bin', False: 'utf8mb4_0900_bin'}

#: Table, column, the table whose id that is, and what happens when its row goes. As of this revision.
_FOREIGN_KEYS = (
    ('access_rule_metadata', 'owner_id', 'access_rules', 'CASCADE'),
    ('access_rules', 'share_id', 'shares', 'CASCADE'),
    ('export_location_metadata', 'owner_id', 'export_locations', 'CASCADE'),
    ('export_locations', 'share_instance_id', 'share_instances', 'CASCADE'),
    ('services', 'availability_zone_id', 'availability_zones', None),
    ('share_instances', 'availability_zone_id', 'availability_zones', None),
    ('share_instances', 'share_id', 'shares', 'CASCADE'),
    ('share_instances', 'share_type_id', 'share_types', None),
    ('share_metadata', 'owner_id', 'shares', 'CASCADE'),
    ('share_type_extra_specs', 'owner_id', 'share_types', 'CASCADE'),
    ('share_type_projects', 'share_type_id', 'share_types', 'CASCADE'),
    ('snapshot_metadata', 'owner_id', 'snapshots', 'CASCADE'),
    ('snapshots', 'share_id', 'shares', None),
)


def upgrade() -> None:
    conn = op.get_bind()
    if conn.dialect.name not in ('mysql', 'mariadb'):
        return
    into = f'CHARACTER SET utf8mb4 COLLATE {_EXACT[conn.dialect.is_mariadb]}'
    conn.exec_driver_sql(f'ALTER DATABASE {into}')
    with _orphans_are_let_be(conn):
        _drop_foreign_keys(conn)
        for table in sa.inspect(conn).get_table_names():
            conn.exec_driver_sql(f'ALTER TABLE {conn.dialect.identifier_preparer.quote(table)} CONVERT TO {into}')
        for table, column, target, gone in _FOREIGN_KEYS:
            op.create_foreign_key(f'fk_{table}_{column}', table, target, [column], ['id'], ondelete=gone)


@contextlib.contextmanager
def _orphans_are_let_be(conn: Connection) -> Iterator[None]:
    before = conn.exec_driver_sql('SELECT @@SESSION.foreign_key_checks').scalar()
    conn.exec_driver_sql('SET SESSION foreign_key_checks = 0')
    try:
        yield
    finally:
        conn.exec_driver_sql(f'SET SESSION foreign_key_checks = {before}')


def _drop_foreign_keys(conn: Connection) -> None:
    """The two ends of a foreign key cannot change in one statement, and so it has to go meanwhile."""
    found = sa.inspect(conn)
    for table in {table for table, *_ in _FOREIGN_KEYS}:
        for key in found.get_foreign_keys(table):
            op.drop_constraint(key['name'], table, type_='foreignkey')
