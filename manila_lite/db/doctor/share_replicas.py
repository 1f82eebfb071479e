# SPDX-License-Identifier: Apache-2.0
"""Replicas in a transient status, like shares in ``db/doctor/shares.py``. The active replica is covered by its share."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import states
from manila_lite.db import models

_shares = models.shares
_instances = models.share_instances
_operations = models.operations
_UNDER_WAY = ('open', 'parked')


def list_in_transition(conn: Connection, ident: str | None = None) -> list[Row]:
    """Return replicas (or only ``ident``), each with the operation that will end its status, if there is one."""
    query = (sa.select(_instances.c.id, _shares.c.id.label('share_id'), _shares.c.project_id, _shares.c.user_id,
                       _instances.c.host, _instances.c.status.label('state'), _operations.c.id.label('operation_id'),
                       _operations.c.kind.label('operation_kind'), _operations.c.state.label('operation_state'),
                       sa.func.coalesce(_instances.c.updated_at, _instances.c.created_at).label('since'))
             .join(_shares, _shares.c.id == _instances.c.share_id)
             .outerjoin(_operations, sa.and_(_operations.c.resource_id == _instances.c.id,
                                             _operations.c.state.in_(_UNDER_WAY)))
             .where(_instances.c.is_aside, _instances.c.replica_state.is_not(None),
                    _instances.c.status.in_(states.SHARE.transient))
             .order_by(_instances.c.created_at, _instances.c.id))
    return list(conn.execute(query if ident is None else query.where(_instances.c.id == ident)))
