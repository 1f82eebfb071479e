# SPDX-License-Identifier: Apache-2.0
"""The operation that ends each transient status, and the conditions under which it may be begun again.

A status that an administrator may set by hand proves nothing. So a deletion or unmanage is repeated only if it was the
last operation of the resource, and a share that existed once is not created again.
"""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from manila_lite import states
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import shares
from manila_lite.db.queries import operations, snapshots
from manila_lite.db.queries.messages import Action

#: Returns the operation's data, made from the row and the data of an earlier operation; None if they cannot be known.
Data = Callable[[Connection, Any, dict[str, Any]], dict[str, Any] | None]
#: Says whether the operation may be begun, given the row and the last operation of the resource.
Proof = Callable[[Any, Any], bool]


@dataclasses.dataclass(frozen=True)
class Redo:
    """The way to end a transient status: the verb that the status belongs to, and the operation that ends it.

    ``placeless``: the operation is also begun where the share has no host, for the scheduler.
    """

    verb: str
    kind: str
    action: Action
    data: Data
    proof: Proof = lambda row, last: True
    placeless: bool = False


def _nothing(conn: Connection, row: Row, before: dict[str, Any]) -> dict[str, Any]:
    return {}


def _placement(conn: Connection, row: Row, before: dict[str, Any]) -> dict[str, Any]:
    known = {key: before[key] for key in ('hints', 'zone', 'excluded', 'member') if key in before}
    return {'hints': {}, 'zone': row.zone, **known}


def _sizes(conn: Connection, row: Row, before: dict[str, Any]) -> dict[str, Any] | None:
    return {'size': row.size, 'new_size': row.target_size} if row.target_size else None


def _reversion(conn: Connection, row: Row, before: dict[str, Any]) -> dict[str, Any] | None:
    latest = snapshots.latest_of(conn, row.id)
    snapshot = shares.find_snapshot(conn, latest) if latest else None
    if snapshot is None or snapshot.state != states.SNAPSHOT['restore'].during:
        return None
    return {'snapshot_id': snapshot.id, 'new_size': snapshot.size}


def _path(conn: Connection, row: Row, before: dict[str, Any]) -> dict[str, Any] | None:
    return {key: before[key] for key in ('export_path', 'options')} if {'export_path', 'options'} <= set(before) else None


def _options(conn: Connection, row: Row, before: dict[str, Any]) -> dict[str, Any]:
    return {'options': before.get('options', {})}


def _was_asked_for(kind: str) -> Proof:
    return lambda row, last: last is not None and last.kind == kind and last.error_code != operations.SUPERSEDED


#: By resource type and transient status. One operation of the share ends the states of all its access rules.
REDO: dict[str, dict[str, Redo]] = {
    states.SHARE.resource_type: {
        'creating': Redo('create', 'share.create', Action.CREATE, _placement, lambda row, last: row.launched_at is None,
                         placeless=True),
        'deleting': Redo('delete', 'share.delete', Action.DELETE, _nothing, _was_asked_for('share.delete'), placeless=True),
        'deferred_deleting': Redo('defer', 'share.deferred_delete', Action.DELETE, _nothing),
        'extending': Redo('extend', 'share.extend', Action.EXTEND, _sizes),
        'shrinking': Redo('shrink', 'share.shrink', Action.SHRINK, _sizes),
        'reverting': Redo('revert', 'share.revert', Action.REVERT_TO_SNAPSHOT, _reversion),
        'manage_starting': Redo('manage', 'share.manage', Action.MANAGE, _path, lambda row, last: row.launched_at is None),
        'unmanage_starting': Redo('unmanage', 'share.unmanage', Action.UNMANAGE, _nothing, _was_asked_for('share.unmanage')),
    },
    states.SNAPSHOT.resource_type: {
        'creating': Redo('create', 'snapshot.create', Action.CREATE, _nothing),
        'deferred_deleting': Redo('defer', 'snapshot.deferred_delete', Action.DELETE, _nothing),
        'deleting': Redo('delete', 'snapshot.delete', Action.DELETE, _nothing, _was_asked_for('snapshot.delete'),
                         placeless=True),
        'manage_starting': Redo('manage', 'snapshot.manage', Action.MANAGE, _options),
        'unmanage_starting': Redo('unmanage', 'snapshot.unmanage', Action.UNMANAGE, _nothing,
                                  _was_asked_for('snapshot.unmanage')),
    },
}


def read_data(op: Row | None) -> dict[str, Any] | None:
    """Return the data of an operation, whose row has them as ``text``; None if there is none, or it cannot be read."""
    try:
        data = json.loads(op.text) if op is not None else None
    except (TypeError, ValueError):
        return None
    return data if isinstance(data, dict) else None
