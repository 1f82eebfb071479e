# SPDX-License-Identifier: Apache-2.0
"""Handlers for QoS types: from the parsed request to an action or a query, and back."""

from collections.abc import Sequence
from typing import Any

from manila_lite.actions import qos_types as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.api.v2.type_calls import SpecCalls
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import qos_types


def _load(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    related.load_pairs(conn, req, models.qos_type_specs, rows)


def index(req: Request) -> list[Any]:
    """List QoS types."""
    with req.ctx.db.reader() as conn:
        rows = qos_types.list_types(conn, req.query, req.page)
        _load(conn, req, rows)
    return rows


def show(req: Request) -> Any:
    """Show one QoS type."""
    with req.ctx.db.reader() as conn:
        row = qos_types.get(conn, req.params['qos_type_id'])
        _load(conn, req, [row])
    return row


def create(req: Request) -> Any:
    """Create a QoS type."""
    row, specs = actions.create(req.ctx, req.body)
    req.related['metadata'] = {row.id: specs}
    return row


def update(req: Request) -> Any:
    """Change the description of a QoS type."""
    return related.loaded(req, actions.update(req.ctx, req.params['qos_type_id'], req.body), _load)


def delete(req: Request) -> None:
    """Delete a QoS type."""
    actions.delete(req.ctx, req.params['qos_type_id'])


# Specs ------------------------------------------------------------------------------------------


def _read_specs(req: Request) -> dict[str, str]:
    with req.ctx.db.reader() as conn:
        return key_values.of(conn, models.qos_type_specs, qos_types.get(conn, req.params['qos_type_id']).id)


SPECS = SpecCalls(
    'qos_types',
    'QoS type',
    'spec',
    'qos_type_id',
    read=_read_specs,
    change=actions.set_specs,
    item_name='QoS spec',
)


def delete_spec(req: Request) -> None:
    """Delete one spec of a QoS type."""
    actions.delete_spec(req.ctx, req.params['qos_type_id'], req.params['key'])
