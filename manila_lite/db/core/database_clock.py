# SPDX-License-Identifier: Apache-2.0
"""The clock of the database: one for all processes, while the clocks of their hosts may differ. SQLite has its host's."""

import datetime
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class now(FunctionElement[datetime.datetime]):  # noqa: N801 - a function of SQL
    """The time of the statement in UTC: the same wherever it stands in the statement."""

    type = sa.DateTime()
    name = 'now'
    inherit_cache = True


#: By dialect. Others are MariaDB, and its family.
_TEXTS = {
    'sqlite': "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
    'postgresql': "(statement_timestamp() AT TIME ZONE 'UTC')",
}


@compiles(now)
def _text(element: now, compiler: Any, **more: Any) -> str:
    return _TEXTS.get(compiler.dialect.name, 'UTC_TIMESTAMP(6)')


#: The time at which a row was read: a column for statements that read times of the database.
AS_OF = now().label('as_of')


def time(conn: Connection) -> datetime.datetime:
    """Return the time of the database's clock."""
    return compare(conn)[0]


def compare(conn: Connection) -> tuple[datetime.datetime, float]:
    """Return the time of the database's clock, and the seconds by which that of this host is ahead; negative: behind.

    The time that the question takes is no difference: what is returned is certain.
    """
    before = timeutils.utcnow()
    there: datetime.datetime = conn.execute(sa.select(now())).scalar_one()
    after = timeutils.utcnow()
    nearest = min(max(there, before), after)
    return there, (nearest - there).total_seconds()
