# SPDX-License-Identifier: Apache-2.0
"""All statuses of resources, and all verbs that move a resource from one status to another.

A row of a table has these columns: verb, the statuses it starts from, the status while it runs, the status after
success (``None``: the row is deleted), the status after failure, and the handling of a crash. ``db/core/transitions.py`` is
the only writer, by compare-and-swap from these tables.
"""

import dataclasses
import enum
from collections.abc import Iterable
from typing import Any


class Crash(enum.Enum):
    """The handling of a transient status after its worker died."""

    RETRY = 'the operation is claimed again and repeats its driver call, which is idempotent'
    RESUME = 'the operation is claimed again and goes on at the step it had reached'


@dataclasses.dataclass(frozen=True)
class Verb:
    """One way to move a resource. ``allowed`` empty: the verb inserts the row."""

    name: str
    allowed: frozenset[str]
    during: str
    ok: str | None
    fail: str
    crash: Crash = Crash.RETRY


@dataclasses.dataclass(frozen=True)
class StateMachine:
    """The life of one resource type: the column of its status, its verbs, and the statuses that a reset may set.

    ``born``: the status of a new row if its creation takes no operation; then its deletion takes none, either.
    ``waits``: statuses of verbs that end at a user's request, and not with an operation.
    """

    resource_type: str
    column: str
    verbs: dict[str, Verb]
    resettable: frozenset[str] = frozenset()
    born: str | None = None
    waits: frozenset[str] = frozenset()

    def __getitem__(self, verb: str) -> Verb:
        return self.verbs[verb]

    @property
    def resource_name(self) -> str:
        """The resource type as it is written in texts for people: without underscores."""
        return self.resource_type.replace('_', ' ')

    @property
    def statuses(self) -> frozenset[str]:
        """Every status the resource can show."""
        statuses = {*self.resettable, *([self.born] if self.born else [])}
        for verb in self.verbs.values():
            statuses |= {verb.during, verb.fail, *verb.allowed}
            if verb.ok:
                statuses.add(verb.ok)
        return frozenset(statuses)

    @property
    def transient(self) -> frozenset[str]:
        """Statuses of a running operation, which will end them."""
        return frozenset(verb.during for verb in self.verbs.values()) - self.waits


def state_machine(
    resource_type: str,
    column: str,
    rows: Iterable[tuple[Any, ...]],
    resettable: str = '',
    born: str | None = None,
    waits: str = '',
) -> StateMachine:
    """Return a machine. A row: verb, statuses to start from, during, ok (None: gone), fail, and perhaps ``Crash``."""
    verbs = {}
    for name, allowed, during, ok, fail, *crash in rows:
        verbs[name] = Verb(name, frozenset(allowed.split()), during, ok, fail, *crash)
    return StateMachine(
        resource_type, column, verbs, frozenset(resettable.split()), born, frozenset(waits.split())
    )


_BROKEN = (
    'error inactive error_deleting extending_error shrinking_error reverting_error backup_restoring_error'
)
_MANAGING, _UNMANAGED = 'manage_starting unmanage_starting', 'manage_error unmanage_error'
_ON_THE_EDGE = f'{_MANAGING} {_UNMANAGED} deferred_deleting error_deferred_deleting'
_ANY_SHARE = (
    f'available creating creating_from_snapshot deleting extending shrinking reverting backup_creating '
    f'backup_restoring {_BROKEN}'
)

# fmt: off    - tables are read by column
SHARE = state_machine(
    'share',
    'status',
    (
        #  verb      from                      during       ok           fail
        ('create', '', 'creating', 'available', 'error'),
        ('delete', f'available {_BROKEN}', 'deleting', None, 'error_deleting'),
        (
            'force_delete',
            f'{_ANY_SHARE} migrating migrating_to server_migrating ensuring awaiting_transfer {_ON_THE_EDGE}',
            'deleting',
            None,
            'error_deleting',
        ),
        # Gone for its owner; the backend still has it. "defer_again": a retry after a failure.
        ('defer', f'available {_BROKEN}', 'deferred_deleting', None, 'error_deferred_deleting'),
        ('defer_again', 'error_deferred_deleting', 'deferred_deleting', None, 'error_deferred_deleting'),
        ('extend', 'available', 'extending', 'available', 'extending_error'),
        ('shrink', 'available', 'shrinking', 'available', 'shrinking_error'),
        ('revert', 'available', 'reverting', 'available', 'reverting_error'),
        # The share's data is copied to a backup, or a backup's data to the share.
        ('back_up', 'available', 'backup_creating', 'available', 'available', Crash.RESUME),
        (
            'take_back',
            'available backup_restoring_error',
            'backup_restoring',
            'available',
            'backup_restoring_error',
            Crash.RESUME,
        ),
        # Migration of its share server: until the cut-over a failure leaves the share where it was.
        ('server_migrate', 'available', 'server_migrating', 'available', 'available', Crash.RESUME),
        ('server_cut_over', 'error', 'server_migrating', 'available', 'error', Crash.RESUME),
        # Check and repair by its backend: a failed run leaves the share as it was. "condemn": the backend found it broken.
        ('ensure', 'available', 'ensuring', 'available', 'available', Crash.RESUME),
        ('condemn', 'available', 'ensuring', 'available', 'error', Crash.RESUME),
        # Migration of the share by itself, and the instance that it moves to. "cut_over": a retry after a failure.
        ('migrate', 'available', 'migrating', 'available', 'available', Crash.RESUME),
        ('cut_over', 'error', 'migrating', 'available', 'error', Crash.RESUME),
        ('receive', '', 'migrating_to', 'available', 'error', Crash.RESUME),
        ('cut_over_to', 'error', 'migrating_to', 'available', 'error', Crash.RESUME),
        # A replica that becomes the active one ("promote"), and the active one until then: healthy ("hand_over") or broken
        # ("fail_over"). After a failure the latter has its old status again.
        ('promote', 'available', 'replication_change', 'available', 'error', Crash.RESUME),
        ('hand_over', 'available', 'replication_change', 'available', 'available', Crash.RESUME),
        ('fail_over', _BROKEN, 'replication_change', 'available', 'error', Crash.RESUME),
        # An existing share of the backend is managed, or unmanaged and left there.
        ('manage', '', 'manage_starting', 'available', 'manage_error'),
        ('unmanage', f'available {_BROKEN} {_UNMANAGED}', 'unmanage_starting', None, 'unmanage_error'),
        # Offered for transfer: the share then moves to another project, or stays in its own.
        ('transfer', 'available', 'awaiting_transfer', 'available', 'available'),
    ),
    resettable='creating available deleting error error_deleting migrating migrating_to server_migrating',
    waits='awaiting_transfer',
)

SNAPSHOT = state_machine(
    'snapshot',
    'status',
    (
        ('create', '', 'creating', 'available', 'error'),
        ('delete', 'available error error_deleting', 'deleting', None, 'error_deleting'),
        (
            'force_delete',
            f'available error error_deleting creating deleting restoring {_ON_THE_EDGE}',
            'deleting',
            None,
            'error_deleting',
        ),
        ('defer', 'available error error_deleting', 'deferred_deleting', None, 'error_deferred_deleting'),
        ('defer_again', 'error_deferred_deleting', 'deferred_deleting', None, 'error_deferred_deleting'),
        ('restore', 'available', 'restoring', 'available', 'available'),
        ('server_migrate', 'available', 'server_migrating', 'available', 'available', Crash.RESUME),
        ('server_cut_over', 'error', 'server_migrating', 'available', 'error', Crash.RESUME),
        ('migrate', 'available', 'migrating', 'available', 'available', Crash.RESUME),
        ('cut_over', 'error', 'migrating', 'available', 'error', Crash.RESUME),
        ('manage', '', 'manage_starting', 'available', 'manage_error'),
        (
            'unmanage',
            f'available error error_deleting {_UNMANAGED}',
            'unmanage_starting',
            None,
            'unmanage_error',
        ),
    ),
    resettable='available creating deleting error error_deleting',
)

ACCESS = state_machine(
    'access_rule',
    'state',
    (
        ('create', '', 'queued_to_apply', 'active', 'error'),
        ('apply', 'queued_to_apply', 'applying', 'active', 'error'),
        ('update', 'active error', 'queued_to_update', 'active', 'error'),
        ('change', 'queued_to_update', 'updating', 'active', 'error'),
        (
            'revoke',
            'queued_to_apply applying active error queued_to_update updating',
            'queued_to_deny',
            None,
            'error',
        ),
        ('deny', 'queued_to_deny', 'denying', None, 'error'),
    ),
)

#: Access rules of snapshots. There is no update: a snapshot can only be read.
SNAPSHOT_ACCESS = state_machine(
    'snapshot_access_rule',
    'state',
    (
        ('create', '', 'queued_to_apply', 'active', 'error'),
        ('apply', 'queued_to_apply', 'applying', 'active', 'error'),
        ('revoke', 'queued_to_apply applying active error', 'queued_to_deny', None, 'error'),
        ('deny', 'queued_to_deny', 'denying', None, 'error'),
    ),
)

SHARE_NETWORK = state_machine(
    'share_network',
    'status',
    (
        # If a backend fails to follow, its server is in error; the network stays as its owner changed it.
        ('change', 'active', 'network_change', 'active', 'active', Crash.RESUME),
    ),
    resettable='active error network_change',
    born='active',
)

SHARE_SERVER = state_machine(
    'share_server',
    'status',
    (
        ('create', '', 'creating', 'active', 'error'),
        ('change', 'active', 'network_change', 'active', 'error', Crash.RESUME),
        ('delete', 'active error inactive', 'deleting', None, 'error'),
        ('manage', '', 'manage_starting', 'active', 'manage_error'),
        ('unmanage', 'active error manage_error unmanage_error', 'unmanage_starting', None, 'unmanage_error'),
        # The source of a migration, and its target: a new server, or an idle one ("take_in").
        # "cut_over": a retry after a failure.
        ('migrate', 'active', 'server_migrating', 'inactive', 'active', Crash.RESUME),
        ('cut_over', 'error', 'server_migrating', 'inactive', 'error', Crash.RESUME),
        ('receive', '', 'server_migrating_to', 'active', 'error', Crash.RESUME),
        ('take_in', 'active', 'server_migrating_to', 'active', 'error', Crash.RESUME),
        ('cut_over_to', 'error', 'server_migrating_to', 'active', 'error', Crash.RESUME),
    ),
    resettable='active error deleting creating manage_starting manage_error unmanage_starting unmanage_error inactive '
    'server_migrating server_migrating_to network_change',
)

# A backend stores nothing of a group but its shares.
SHARE_GROUP = state_machine(
    'share_group',
    'status',
    (
        ('create', '', 'creating', 'available', 'error', Crash.RESUME),
        ('delete', 'available error error_deleting', 'deleting', None, 'error'),
        ('force_delete', 'available error error_deleting creating deleting', 'deleting', None, 'error'),
    ),
    resettable='available creating deleting error error_deleting',
)

SHARE_GROUP_SNAPSHOT = state_machine(
    'share_group_snapshot',
    'status',
    (
        ('create', '', 'creating', 'available', 'error', Crash.RESUME),
        ('delete', 'available error error_deleting', 'deleting', None, 'error'),
        ('force_delete', 'available error error_deleting creating deleting', 'deleting', None, 'error'),
    ),
    resettable='available creating deleting error error_deleting',
)

# After a failed restore the backup is as before; the share shows the failure.
SHARE_BACKUP = state_machine(
    'share_backup',
    'status',
    (
        ('create', '', 'creating', 'available', 'error', Crash.RESUME),
        ('restore', 'available', 'restoring', 'available', 'available', Crash.RESUME),
        ('delete', 'available error error_deleting', 'deleting', None, 'error_deleting'),
    ),
    resettable='available creating deleting restoring error error_deleting',
)

# fmt: on

#: Every machine, by resource type, for tests and diagrams.
MACHINES: dict[str, StateMachine] = {
    machine.resource_type: machine
    for machine in (
        SHARE,
        SNAPSHOT,
        ACCESS,
        SNAPSHOT_ACCESS,
        SHARE_NETWORK,
        SHARE_SERVER,
        SHARE_GROUP,
        SHARE_GROUP_SNAPSHOT,
        SHARE_BACKUP,
    )
}


class Replica(enum.StrEnum):
    """``replica_state`` of a share instance: its state relative to the active replica of its share."""

    ACTIVE = 'active'
    IN_SYNC = 'in_sync'
    OUT_OF_SYNC = 'out_of_sync'
    ERROR = 'error'


class Rules(enum.StrEnum):
    """``access_rules_status`` of a share: derived from the states of its rules, and stored for lists."""

    ACTIVE = 'active'
    SYNCING = 'syncing'
    ERROR = 'error'


class Migration(enum.StrEnum):
    """``task_state`` of a share server or a share: the phase of its migration. Clients know these names."""

    STARTING = 'migration_starting'
    IN_PROGRESS = 'migration_in_progress'
    DRIVER_STARTING = 'migration_driver_starting'
    COPYING = 'migration_driver_in_progress'
    COPIED = 'migration_driver_phase1_done'
    # Of shares that a host copies, in place of the last three. Theirs is a last pass before the cut-over, too.
    DATA_STARTING = 'data_copying_starting'
    DATA_COPYING = 'data_copying_in_progress'
    DATA_COPIED = 'data_copying_completed'
    DATA_COMPLETING = 'data_copying_completing'
    COMPLETING = 'migration_completing'
    CANCELLING = 'migration_cancel_in_progress'
    SUCCESS = 'migration_success'
    CANCELLED = 'migration_cancelled'
    ERROR = 'migration_error'

    @property
    def may_be_cancelled(self) -> bool:
        """Whether the migration can still be cancelled: before the cut-over."""
        return self in (
            Migration.STARTING,
            Migration.IN_PROGRESS,
            Migration.DRIVER_STARTING,
            Migration.COPYING,
            Migration.COPIED,
            *BY_HOST,
        )


#: Task states of a share that a host copies, and of no share server.
BY_HOST = (Migration.DATA_STARTING, Migration.DATA_COPYING, Migration.DATA_COMPLETING, Migration.DATA_COPIED)
#: The task state of a copy that is ready, and the one after a request to complete it.
COMPLETION: dict[Migration, Migration] = {
    Migration.COPIED: Migration.COMPLETING,
    Migration.DATA_COPIED: Migration.DATA_COMPLETING,
}

#: Task states of a migration that has ended.
MIGRATION_ENDS = (Migration.SUCCESS, Migration.ERROR, Migration.CANCELLED)

#: Other names of the specification, accepted wherever a task state is given.
MIGRATION_ALIASES: dict[str, Migration] = {
    'server_migration_starting': Migration.STARTING,
    'server_migrating': Migration.COPYING,
    'server_migrating_phase1_done': Migration.COPIED,
    'server_migration_completed': Migration.SUCCESS,
    'server_migration_error': Migration.ERROR,
    'server_migration_cancelled': Migration.CANCELLED,
}
