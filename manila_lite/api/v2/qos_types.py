# SPDX-License-Identifier: Apache-2.0
"""Handlers for QoS types: from the parsed request to an action or a query, and back."""

from typing import Any

from manila_lite.actions import qos_types as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import metadata, related
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.queries import qos_types


def specs_of(row: Any, req: Request) -> dict[str, str]:
    """Read the specs, loaded for all rows at once."""
    return req.related['metadata'].get(row.id, {})


def index(req: Request) -> list[Any]:
    """List QoS types."""
    with req.ctx.db.reader() as conn:
        found = qos_types.list_types(conn, req.query, req.page)
        related.load_pairs(conn, req, models.qos_type_specs, found)
    return found


def show(req: Request) -> Any:
    """Show one QoS type."""
    with req.ctx.db.reader() as conn:
        row = qos_types.get(conn, req.params['qos_type_id'])
        related.load_pairs(conn, req, models.qos_type_specs, [row])
    return row


def create(req: Request) -> Any:
    """Create a QoS type."""
    row, specs = actions.create(req.ctx, req.body)
    req.related['metadata'] = {row.id: specs}
    return row


def update(req: Request) -> Any:
    """Change the description of a QoS type."""
    row = actions.update(req.ctx, req.params['qos_type_id'], req.body)
    with req.ctx.db.reader() as conn:
        related.load_pairs(conn, req, models.qos_type_specs, [row])
    return row


def delete(req: Request) -> None:
    """Delete a QoS type."""
    actions.delete(req.ctx, req.params['qos_type_id'])


# Specs ------------------------------------------------------------------------------------------

def get_specs(req: Request) -> dict[str, str]:
    """Show the specs of a QoS type."""
    with req.ctx.db.reader() as conn:
        return key_values.of(conn, models.qos_type_specs, qos_types.get(conn, req.params['qos_type_id']).id)


def set_specs(req: Request) -> dict[str, str]:
    """Set specs of a QoS type."""
    return actions.set_specs(req.ctx, req.params['qos_type_id'], req.body)


def get_spec(req: Request) -> dict[str, str]:
    """Show one spec of a QoS type."""
    return metadata.get_pair(get_specs(req), req.params['key'], 'qos spec')


def set_spec(req: Request) -> dict[str, str]:
    """Set one spec of a QoS type."""
    metadata.get_pair_of_path(req)
    return set_specs(req)


def delete_spec(req: Request) -> None:
    """Delete one spec of a QoS type."""
    actions.delete_spec(req.ctx, req.params['qos_type_id'], req.params['key'])
