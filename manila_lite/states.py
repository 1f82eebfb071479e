# SPDX-License-Identifier: Apache-2.0
"""Every status and every verb that moves a resource from one to another.

A row of a table reads: verb, the statuses it starts from, the status while it runs, the status when
it worked (``None``: the row is gone), the status when it failed, and what a crash half way means.
``db/transitions.py`` is the only writer, by compare-and-swap from these tables.
"""

import dataclasses
import enum
from collections.abc import Iterable
from typing import Any


class Crash(enum.Enum):
    """What becomes of a transient status whose worker died."""

    RETRY = 'the operation is claimed again and repeats its driver call, which is idempotent'
    RESUME = 'the operation is claimed again and goes on at the step it had reached'


@dataclasses.dataclass(frozen=True)
class Verb:
    """One way to move a resource. ``allowed`` empty: the verb makes the row."""

    name: str
    allowed: frozenset[str]
    during: str
    ok: str | None
    fail: str
    crash: Crash = Crash.RETRY


@dataclasses.dataclass(frozen=True)
class Machine:
    """The life of one kind of resource: the column that holds its status, its verbs, and what an admin may set.

    ``born``: the status of a new row, where making one takes no work; then it goes without any, too. ``waits``: statuses of
    verbs that end when somebody wants it, and not with an operation.
    """

    noun: str
    column: str
    verbs: dict[str, Verb]
    resettable: frozenset[str] = frozenset()
    born: str | None = None
    waits: frozenset[str] = frozenset()

    def __getitem__(self, verb: str) -> Verb:
        return self.verbs[verb]

    @property
    def statuses(self) -> frozenset[str]:
        """Every status the resource can show."""
        found = {*self.resettable, *([self.born] if self.born else [])}
        for verb in self.verbs.values():
            found |= {verb.during, verb.fail, *verb.allowed}
            if verb.ok:
                found.add(verb.ok)
        return frozenset(found)

    @property
    def transient(self) -> frozenset[str]:
        """Statuses that an operation owns and will end."""
        return frozenset(verb.during for verb in self.verbs.values()) - self.waits


def machine(noun: str, column: str, rows: Iterable[tuple[Any, ...]], resettable: str = '',
            born: str | None = None, waits: str = '') -> Machine:
    """Return a machine. A row: verb, statuses to start from, during, ok (None: gone), fail, and perhaps ``Crash``."""
    verbs = {}
    for name, allowed, during, ok, fail, *crash in rows:
        verbs[name] = Verb(name, frozenset(allowed.split()), during, ok, fail, *crash)
    return Machine(noun, column, verbs, frozenset(resettable.split()), born, frozenset(waits.split()))


_BROKEN = 'error inactive error_deleting extending_error shrinking_error reverting_error backup_restoring_error'
_MANAGING, _UNMANAGED = 'manage_starting unmanage_starting', 'manage_error unmanage_error'
_ON_THE_EDGE = f'{_MANAGING} {_UNMANAGED} deferred_deleting error_deferred_deleting'
_ANY_SHARE = (f'available creating creating_from_snapshot deleting extending shrinking reverting backup_creating '
              f'backup_restoring {_BROKEN}')

SHARE = machine('share', 'status', (
    #  verb      from                      during       ok           fail
    ('create',   '',                       'creating',  'available', 'error'),
    ('delete',   f'available {_BROKEN}',   'deleting',  None,        'error_deleting'),
    ('force_delete', f'{_ANY_SHARE} migrating migrating_to server_migrating ensuring awaiting_transfer {_ON_THE_EDGE}',
     'deleting', None, 'error_deleting'),
    # Gone for its owner; the backend still has it. "defer_again": once more, after that failed.
    ('defer',    f'available {_BROKEN}',   'deferred_deleting', None, 'error_deferred_deleting'),
    ('defer_again', 'error_deferred_deleting', 'deferred_deleting', None, 'error_deferred_deleting'),
    ('extend',   'available',              'extending', 'available', 'extending_error'),
    ('shrink',   'available',              'shrinking', 'available', 'shrinking_error'),
    ('revert',   'available',              'reverting', 'available', 'reverting_error'),
    # What it holds is copied to a backup, or what a backup holds to it.
    ('back_up',  'available',              'backup_creating', 'available', 'available', Crash.RESUME),
    ('take_back', 'available backup_restoring_error', 'backup_restoring', 'available', 'backup_restoring_error', Crash.RESUME),
    # With the share server that it is on: until the cut-over a failure leaves it where it was.
    ('server_migrate', 'available',        'server_migrating', 'available', 'available', Crash.RESUME),
    ('server_cut_over', 'error',           'server_migrating', 'available', 'error', Crash.RESUME),
    # With its backend: a run that fails leaves it as it was. "condemn": the backend found it broken.
    ('ensure',   'available',              'ensuring',  'available', 'available', Crash.RESUME),
    ('condemn',  'available',              'ensuring',  'available', 'error', Crash.RESUME),
    # By itself, and the instance that it moves to. "cut_over": once more, after that failed.
    ('migrate',  'available',              'migrating', 'available', 'available', Crash.RESUME),
    ('cut_over', 'error',                  'migrating', 'available', 'error', Crash.RESUME),
    ('receive',  '',                       'migrating_to', 'available', 'error', Crash.RESUME),
    ('cut_over_to', 'error',               'migrating_to', 'available', 'error', Crash.RESUME),
    # A replica that becomes the active one ("promote"), and the one that was until then: where it was ("hand_over") or broken
    # ("fail_over"). If it comes to nothing that one is what it was.
    ('promote',  'available',              'replication_change', 'available', 'error', Crash.RESUME),
    ('hand_over', 'available',             'replication_change', 'available', 'available', Crash.RESUME),
    ('fail_over', _BROKEN,                 'replication_change', 'available', 'error', Crash.RESUME),
    # What the backend has already becomes ours, or stays there and is ours no more.
    ('manage',   '',                       'manage_starting', 'available', 'manage_error'),
    ('unmanage', f'available {_BROKEN} {_UNMANAGED}', 'unmanage_starting', None, 'unmanage_error'),
    # Offered to whoever has the key; then it is theirs, or remains whose it was.
    ('transfer', 'available',              'awaiting_transfer', 'available', 'available'),
), resettable='creating available deleting error error_deleting migrating migrating_to server_migrating',
    waits='awaiting_transfer')

SNAPSHOT = machine('snapshot', 'status', (
    ('create',   '',                                 'creating',  'available', 'error'),
    ('delete',   'available error error_deleting',   'deleting',  None,        'error_deleting'),
    ('force_delete', f'available error error_deleting creating deleting restoring {_ON_THE_EDGE}',
     'deleting', None, 'error_deleting'),
    ('defer',    'available error error_deleting',   'deferred_deleting', None, 'error_deferred_deleting'),
    ('defer_again', 'error_deferred_deleting',       'deferred_deleting', None, 'error_deferred_deleting'),
    ('restore',  'available',                        'restoring', 'available', 'available'),
    ('server_migrate', 'available',                  'server_migrating', 'available', 'available', Crash.RESUME),
    ('server_cut_over', 'error',                     'server_migrating', 'available', 'error', Crash.RESUME),
    ('migrate',  'available',                        'migrating', 'available', 'available', Crash.RESUME),
    ('cut_over', 'error',                            'migrating', 'available', 'error', Crash.RESUME),
    ('manage',   '',                                 'manage_starting', 'available', 'manage_error'),
    ('unmanage', f'available error error_deleting {_UNMANAGED}', 'unmanage_starting', None, 'unmanage_error'),
), resettable='available creating deleting error error_deleting')

ACCESS = machine('access rule', 'state', (
    ('create', '',                'queued_to_apply', 'active', 'error'),
    ('apply',  'queued_to_apply', 'applying',        'active', 'error'),
    ('update', 'active error',    'queued_to_update', 'active', 'error'),
    ('change', 'queued_to_update', 'updating',       'active', 'error'),
    ('revoke', 'queued_to_apply applying active error queued_to_update updating', 'queued_to_deny', None, 'error'),
    ('deny',   'queued_to_deny',  'denying',         None,     'error'),
))

#: Who may mount a snapshot. There is nothing to update: what a snapshot holds can only be read.
SNAPSHOT_ACCESS = machine('snapshot access rule', 'state', (
    ('create', '',                'queued_to_apply', 'active', 'error'),
    ('apply',  'queued_to_apply', 'applying',        'active', 'error'),
    ('revoke', 'queued_to_apply applying active error', 'queued_to_deny', None, 'error'),
    ('deny',   'queued_to_deny',  'denying',         None,     'error'),
))

SHARE_NETWORK = machine('share network', 'status', (
    # A backend that fails to follow is an error of its server: the network is what its owner made it.
    ('change', 'active', 'network_change', 'active', 'active', Crash.RESUME),
), resettable='active error network_change', born='active')

SHARE_SERVER = machine('share server', 'status', (
    ('create', '',                      'creating',       'active', 'error'),
    ('change', 'active',                'network_change', 'active', 'error', Crash.RESUME),
    ('delete', 'active error inactive', 'deleting',       None,     'error'),
    ('manage', '',                      'manage_starting', 'active', 'manage_error'),
    ('unmanage', 'active error manage_error unmanage_error', 'unmanage_starting', None, 'unmanage_error'),
    # The source of a migration, and what takes its place: a new server, or one that stood idle ("take_in").
    # "cut_over": once more, after that failed.
    ('migrate', 'active',               'server_migrating', 'inactive', 'active', Crash.RESUME),
    ('cut_over', 'error',               'server_migrating', 'inactive', 'error', Crash.RESUME),
    ('receive', '',                     'server_migrating_to', 'active', 'error', Crash.RESUME),
    ('take_in', 'active',               'server_migrating_to', 'active', 'error', Crash.RESUME),
    ('cut_over_to', 'error',            'server_migrating_to', 'active', 'error', Crash.RESUME),
), resettable='active error deleting creating manage_starting manage_error unmanage_starting unmanage_error inactive '
              'server_migrating server_migrating_to network_change')

# The backend has nothing of a group but the shares in it.
SHARE_GROUP = machine('share group', 'status', (
    ('create', '',                               'creating', 'available', 'error', Crash.RESUME),
    ('delete', 'available error error_deleting', 'deleting', None,        'error'),
    ('force_delete', 'available error error_deleting creating deleting', 'deleting', None, 'error'),
), resettable='available creating deleting error error_deleting')

SHARE_GROUP_SNAPSHOT = machine('share group snapshot', 'status', (
    ('create', '',                               'creating', 'available', 'error', Crash.RESUME),
    ('delete', 'available error error_deleting', 'deleting', None,        'error'),
    ('force_delete', 'available error error_deleting creating deleting', 'deleting', None, 'error'),
), resettable='available creating deleting error error_deleting')

# A restore that fails leaves the backup as it is; the share shows it.
SHARE_BACKUP = machine('share backup', 'status', (
    ('create',  '',                               'creating',  'available', 'error', Crash.RESUME),
    ('restore', 'available',                      'restoring', 'available', 'available', Crash.RESUME),
    ('delete',  'available error error_deleting', 'deleting',  None,        'error_deleting'),
), resettable='available creating deleting restoring error error_deleting')

#: Every machine, by noun; tests and the diagrams walk it.
MACHINES: dict[str, Machine] = {machine.noun: machine for machine in (
    SHARE, SNAPSHOT, ACCESS, SNAPSHOT_ACCESS, SHARE_NETWORK, SHARE_SERVER, SHARE_GROUP,
    SHARE_GROUP_SNAPSHOT, SHARE_BACKUP)}


class Replica(enum.StrEnum):
    """``replica_state`` of a share instance: how near it is to the active one of its share."""

    ACTIVE = 'active'
    IN_SYNC = 'in_sync'
    OUT_OF_SYNC = 'out_of_sync'
    ERROR = 'error'


class Rules(enum.StrEnum):
    """``access_rules_status`` of a share: derived from its rules' states, stored for the lists."""

    ACTIVE = 'active'
    SYNCING = 'syncing'
    ERROR = 'error'


class Migration(enum.StrEnum):
    """``task_state`` of a share server or a share: how far its migration is. Names as clients know them."""

    STARTING = 'migration_starting'
    IN_PROGRESS = 'migration_in_progress'
    DRIVER_STARTING = 'migration_driver_starting'
    COPYING = 'migration_driver_in_progress'
    COPIED = 'migration_driver_phase1_done'
    COMPLETING = 'migration_completing'
    CANCELLING = 'migration_cancel_in_progress'
    SUCCESS = 'migration_success'
    CANCELLED = 'migration_cancelled'
    ERROR = 'migration_error'

    @property
    def may_be_cancelled(self) -> bool:
        """Whether it can still be called off: before the cut-over."""
        return self in (Migration.STARTING, Migration.IN_PROGRESS, Migration.DRIVER_STARTING, Migration.COPYING,
                        Migration.COPIED)


#: What the specification calls them, where that differs: understood wherever a task state is given.
MIGRATION_ALIASES: dict[str, Migration] = {
    'server_migration_starting': Migration.STARTING,
    'server_migrating': Migration.COPYING,
    'server_migrating_phase1_done': Migration.COPIED,
    'server_migration_completed': Migration.SUCCESS,
    'server_migration_error': Migration.ERROR,
    'server_migration_cancelled': Migration.CANCELLED,
}
