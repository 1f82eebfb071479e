# SPDX-License-Identifier: Apache-2.0
"""The operation that ends each transient status, and the conditions under which it may be begun again.

A status that an administrator may set by hand proves nothing. So a deletion or unmanage is repeated only if it was the
last operation of the resource, and a share that existed once is not created again.
"""

import dataclasses
import json
from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

from manila_lite import states
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import shares
from manila_lite.db.queries import operations, snapshots
from manila_lite.db.queries.messages import Action
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.shares import CreateShare, ManageShare, ResizeShare, RevertShare
from manila_lite.operation_data.snapshots import ManageSnapshot

#: Returns the operation's data, made from the row and from the last operation, if that was of the same kind; None if they
#: cannot be known.
Data = Callable[[Connection, Any, Any], OperationData | None]
#: Says whether the operation may be begun, given the row and the last operation of the resource.
Proof = Callable[[Any, Any], bool]


class _Data(Protocol):
    @classmethod
    def from_json(cls, stored: dict[str, Any], /) -> Self: ...


Read = TypeVar('Read', bound=_Data)


@dataclasses.dataclass(frozen=True)
class Redo:
    """The way to end a transient status: the verb that the status belongs to, and the operation that ends it.

    ``without_host``: the operation is also begun where the share has no host, for the scheduler.
    """

    verb: str
    kind: str
    action: Action
    data: Data
    proof: Proof = lambda row, last: True
    without_host: bool = False


def _nothing(conn: Connection, row: Row[Any], last: Row[Any] | None) -> OperationData:
    return OperationData()


def _placement(conn: Connection, row: Row[Any], last: Row[Any] | None) -> OperationData:
    before = read_data(last, CreateShare)
    return CreateShare(zone=row.zone) if before is None else dataclasses.replace(before.afresh(), exports=[])


def _sizes(conn: Connection, row: Row[Any], last: Row[Any] | None) -> OperationData | None:
    return ResizeShare(size=row.size, new_size=row.target_size) if row.target_size else None


def _reversion(conn: Connection, row: Row[Any], last: Row[Any] | None) -> OperationData | None:
    latest = snapshots.latest_of(conn, row.id)
    snapshot = shares.find_snapshot(conn, latest) if latest else None
    if snapshot is None or snapshot.state != states.SNAPSHOT['restore'].during:
        return None
    return RevertShare(snapshot_id=snapshot.id, new_size=snapshot.size)


def _path(conn: Connection, row: Row[Any], last: Row[Any] | None) -> OperationData | None:
    before = read_data(last, ManageShare)
    return None if before is None else ManageShare(export_path=before.export_path, options=before.options)


def _options(conn: Connection, row: Row[Any], last: Row[Any] | None) -> OperationData:
    before = read_data(last, ManageSnapshot)
    return ManageSnapshot() if before is None else ManageSnapshot(options=before.options)


def _was_asked_for(kind: str) -> Proof:
    return lambda row, last: (
        last is not None and last.kind == kind and last.error_code != operations.SUPERSEDED
    )


#: By resource type and transient status. One operation of the share ends the states of all its access rules.
REDO: dict[str, dict[str, Redo]] = {
    states.SHARE.resource_type: {
        'creating': Redo(
            'create',
            'share.create',
            Action.CREATE,
            _placement,
            lambda row, last: row.launched_at is None,
            without_host=True,
        ),
        'deleting': Redo(
            'delete',
            'share.delete',
            Action.DELETE,
            _nothing,
            _was_asked_for('share.delete'),
            without_host=True,
        ),
        'deferred_deleting': Redo('defer', 'share.deferred_delete', Action.DELETE, _nothing),
        'extending': Redo('extend', 'share.extend', Action.EXTEND, _sizes),
        'shrinking': Redo('shrink', 'share.shrink', Action.SHRINK, _sizes),
        'reverting': Redo('revert', 'share.revert', Action.REVERT_TO_SNAPSHOT, _reversion),
        'manage_starting': Redo(
            'manage', 'share.manage', Action.MANAGE, _path, lambda row, last: row.launched_at is None
        ),
        'unmanage_starting': Redo(
            'unmanage', 'share.unmanage', Action.UNMANAGE, _nothing, _was_asked_for('share.unmanage')
        ),
    },
    states.SNAPSHOT.resource_type: {
        'creating': Redo('create', 'snapshot.create', Action.CREATE, _nothing),
        'deferred_deleting': Redo('defer', 'snapshot.deferred_delete', Action.DELETE, _nothing),
        'deleting': Redo(
            'delete',
            'snapshot.delete',
            Action.DELETE,
            _nothing,
            _was_asked_for('snapshot.delete'),
            without_host=True,
        ),
        'manage_starting': Redo('manage', 'snapshot.manage', Action.MANAGE, _options),
        'unmanage_starting': Redo(
            'unmanage', 'snapshot.unmanage', Action.UNMANAGE, _nothing, _was_asked_for('snapshot.unmanage')
        ),
    },
}


def read_data(op: Row[Any] | None, data: type[Read]) -> Read | None:
    """Return the data of an operation, whose row has them as ``text``; None if there is none, or they cannot be read."""
    try:
        return None if op is None else data.from_json(json.loads(op.text))
    except (TypeError, ValueError):
        return None
