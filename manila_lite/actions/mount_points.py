# SPDX-License-Identifier: Apache-2.0
"""Mount point names that users give to shares. Each is part of the export paths and unique."""

from typing import Any

from oslo_db import exception as db_exception

from manila_lite import errors
from manila_lite.actions.share_requests import is_spec_true
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import shares
from manila_lite.db.queries.share_types import ShareType

SUPPORT, PREFIX = 'mount_point_name_support', 'provisioning:mount_point_prefix'
_LONGEST = 255


def full_name(share_type: ShareType, project_id: str, wanted: str | None) -> str | None:
    """Return the mount point name with its prefix: that of the share type, or else the project's id.

    Return None if no name is wanted.

    :raises errors.Invalid: the type does not support such names, or the name is too long.
    """
    if not wanted:
        return None
    if not is_spec_true(share_type, SUPPORT):
        raise errors.Invalid(
            f'mount_point_name: share type {share_type.name} does not allow it; its extra spec {SUPPORT} '
            'is not True.',
            code='mount_point_name_not_supported',
        )
    name = f'{share_type.extra_specs.get(PREFIX) or project_id}_{wanted}'
    if len(name) > _LONGEST:
        raise errors.Invalid(f'mount_point_name: {name} has more than {_LONGEST} characters.')
    return name


def insert_share(conn: Connection, values: dict[str, Any], metadata: dict[str, str]) -> None:
    """Insert a share's row and metadata (see ``db.shares.insert``).

    :raises errors.Exists: another share has its mount point name.
    """
    name = values.get('mount_point_name')
    if name and shares.is_mount_point_taken(conn, name):
        raise _name_taken(name)
    try:
        shares.insert(conn, values, metadata)
    except db_exception.DBDuplicateEntry:
        if not name:
            raise
        raise _name_taken(name) from None


def _name_taken(name: str) -> errors.Exists:
    return errors.Exists(
        f'mount_point_name: another share has the name {name}; choose another one.',
        code='mount_point_name_exists',
    )
