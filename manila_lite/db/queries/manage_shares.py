# SPDX-License-Identifier: Apache-2.0
"""Resources that are managed already, to be found by export path or location."""

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import states
from manila_lite.db import models

_shares = models.shares
_instances = models.share_instances
_exports = models.export_locations
_snapshots = models.snapshots

#: The status of a share that could not be managed: it does not count as managed.
_NOT_OURS = states.SHARE['manage'].fail


def _at(host: str) -> sa.ColumnElement[bool]:
    return _instances.c.host.startswith(f'{host}#', autoescape=True)


def _last(path: str) -> str:
    return path.replace('\\', '/').rstrip('/').rpartition('/')[2]


class Managed(NamedTuple):
    """A resource that is managed already."""

    id: str
    project_id: str


def find_managed_share(conn: Connection, host: str, export_path: str) -> Managed | None:
    """Return the share with that export path, or of that name, on the backend ``host``; or None."""
    exported = sa.exists().where(
        _exports.c.share_instance_id == _instances.c.id, _exports.c.path == export_path
    )
    row = conn.execute(
        sa.select(_shares.c.id, _shares.c.project_id)
        .join(_instances, _instances.c.share_id == _shares.c.id)
        .where(
            _at(host),
            _instances.c.status != _NOT_OURS,
            sa.or_(exported, _instances.c.id == _last(export_path)),
        )
        .limit(1)
    ).first()
    return Managed(*row) if row else None


def find_managed_snapshot(conn: Connection, host: str, location: str) -> Managed | None:
    """Return the snapshot with that location on the backend ``host``, or None."""
    row = conn.execute(
        sa.select(_snapshots.c.id, _snapshots.c.project_id)
        .join(_instances, _instances.c.share_id == _snapshots.c.share_id)
        .where(
            _at(host),
            _snapshots.c.status != _NOT_OURS,
            sa.or_(_snapshots.c.provider_location == location, _snapshots.c.id == _last(location)),
        )
        .limit(1)
    ).first()
    return Managed(*row) if row else None
