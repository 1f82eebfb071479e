# SPDX-License-Identifier: Apache-2.0
"""Replicas in a transient status, like shares in ``db/doctor/shares.py``. The active replica is covered by its share."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.doctor.operations import OPERATION_COLUMNS, operation_on, since

_shares = models.shares
_instances = models.share_instances


def list_in_transition(conn: Connection, replica_id: str | None = None) -> list[Row[Any]]:
    """Return replicas (or only ``replica_id``), each with the operation that will end its status, if there is one."""
    query = (
        sa.select(
            _instances.c.id,
            _shares.c.id.label('share_id'),
            _shares.c.project_id,
            _shares.c.user_id,
            _instances.c.host,
            _instances.c.status.label('state'),
            since(_instances),
            *OPERATION_COLUMNS,
        )
        .join(_shares, _shares.c.id == _instances.c.share_id)
        .outerjoin(models.operations, operation_on(_instances.c.id))
        .where(
            _instances.c.is_secondary,
            _instances.c.replica_state.is_not(None),
            _instances.c.status.in_(states.SHARE.transient),
        )
        .order_by(_instances.c.created_at, _instances.c.id)
    )
    return list(conn.execute(query if replica_id is None else query.where(_instances.c.id == replica_id)))


def list_contradicting(conn: Connection, replica_id: str | None = None) -> list[Row[Any]]:
    """Return active replicas (or only ``replica_id``) that are not called active, and others that are called so."""
    is_called_active = _instances.c.replica_state == states.Replica.ACTIVE.value
    query = (
        sa.select(
            _instances.c.id,
            _instances.c.is_secondary,
            _instances.c.host,
            _shares.c.id.label('share_id'),
            _shares.c.project_id,
            _instances.c.status,
            _instances.c.replica_state.label('state'),
            since(_instances),
        )
        .join(_shares, _shares.c.id == _instances.c.share_id)
        .where(_instances.c.replica_state.is_not(None), _instances.c.is_secondary == is_called_active)
        .order_by(_instances.c.created_at, _instances.c.id)
    )
    return list(conn.execute(query if replica_id is None else query.where(_instances.c.id == replica_id)))
