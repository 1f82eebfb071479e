# SPDX-License-Identifier: Apache-2.0
"""One row, or the error of a resource that does not exist."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import errors


def get_row(conn: Connection, query: sa.Select[Any], resource_name: str, resource_id: object) -> Row[Any]:
    """Return the first row of the query. The name and the id are for the message of the error.

    :raises errors.NotFound: there is none.
    """
    row = conn.execute(query).first()
    if row is None:
        raise errors.NotFound.of(resource_name, resource_id)
    return row
