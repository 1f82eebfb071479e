# SPDX-License-Identifier: Apache-2.0
"""Invariants when all is quiet: nothing transient, nothing open, no orphan, quota as counted, failures reported to owners.

Each problem is a line that begins with one of ``CLASSES``.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterator
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.queries import operations
from manila_lite.drivers.dummy.store import Store
from manila_lite.tests.crash import files

#: Kinds of problems: not ended in time; requested or made, and missing; at a backend without a row; wrong quota usage;
#: a failure without a message; another end or value than required.
CLASSES = ('stuck', 'lost', 'orphan', 'quota', 'untold', 'wrong')
#: Statuses of a share that is served: the backend must have it.
_SERVED = frozenset(
    {'available', 'extending_error', 'shrinking_error', 'reverting_error', 'backup_restoring_error'}
)
#: States of failure.
FAILURES = frozenset(
    {
        'error',
        'error_deleting',
        'extending_error',
        'shrinking_error',
        'reverting_error',
        'manage_error',
        'unmanage_error',
        'backup_restoring_error',
    }
)
#: Task states of servers in error that may have copies: the cut-over failed, or the source could not be cleaned up
#: after it.
_HALF_MOVED = ('migration_error', 'migration_success')
_QUEUED = frozenset({'queued_to_apply', 'queued_to_update', 'queued_to_deny'})


@dataclasses.dataclass
class Rows:
    """The rows of one project."""

    shares: list[Any] = dataclasses.field(default_factory=list)
    #: Second instances of shares: targets or sources of migrations.
    instances: list[Any] = dataclasses.field(default_factory=list)
    #: Replicas other than the active ones of their shares.
    replicas: list[Any] = dataclasses.field(default_factory=list)
    snapshots: list[Any] = dataclasses.field(default_factory=list)
    rules: list[Any] = dataclasses.field(default_factory=list)
    #: Access rules of snapshots.
    snapshot_rules: list[Any] = dataclasses.field(default_factory=list)
    groups: list[Any] = dataclasses.field(default_factory=list)
    group_snapshots: list[Any] = dataclasses.field(default_factory=list)
    #: Members of group snapshots, with the status of the group snapshot.
    members: list[Any] = dataclasses.field(default_factory=list)
    backups: list[Any] = dataclasses.field(default_factory=list)
    networks: list[Any] = dataclasses.field(default_factory=list)
    subnets: list[Any] = dataclasses.field(default_factory=list)
    servers: list[Any] = dataclasses.field(default_factory=list)
    operations: list[Any] = dataclasses.field(default_factory=list)
    messages: list[Any] = dataclasses.field(default_factory=list)
    schedules: list[Any] = dataclasses.field(default_factory=list)

    def of(self, resource_type: str) -> dict[str, str]:
        """Return the states of the project's resources of that kind, by id."""
        column = 'state' if resource_type.endswith('rule') else 'status'
        return {row.id: getattr(row, column) for row in getattr(self, f'{resource_type}s')}

    def unsettled(self) -> Iterator[str]:
        """Yield the resources and operations that are not settled."""
        for resource_type, machine in (
            ('share', states.SHARE),
            ('instance', states.SHARE),
            ('replica', states.SHARE),
            ('snapshot', states.SNAPSHOT),
            ('rule', states.ACCESS),
            ('snapshot_rule', states.SNAPSHOT_ACCESS),
            ('network', states.SHARE_NETWORK),
            ('server', states.SHARE_SERVER),
            ('group', states.SHARE_GROUP),
            ('group_snapshot', states.SHARE_GROUP_SNAPSHOT),
            ('backup', states.SHARE_BACKUP),
        ):
            for resource_id, state in self.of(resource_type).items():
                if state in machine.transient | _QUEUED:
                    yield f'{resource_type} {resource_id} is {state}'
        for row in self.shares:
            if row.access_rules_status == states.Rules.SYNCING:
                yield f'share {row.id}: its rules are {row.access_rules_status}'
            if row.target_size is not None:
                yield f'share {row.id} is still on its way to {row.target_size} GiB'
        yield from self._unfinished()

    def _unfinished(self) -> Iterator[str]:
        """Yield the operations that are open, and the schedules whose time has come."""
        for op in self.operations:
            if op.state in ('open', 'parked') or op.owner:
                yield (
                    f'operation {op.kind} of {op.resource_id} is {op.state}, step {operations.step_name(op) or op.step}, '
                    f'try {op.attempts}, owner {op.owner}, at {op.topic} {op.host}, error {op.error}'
                )

        for schedule in self.schedules:
            if schedule.next_run_at <= timeutils.utcnow():
                yield f'schedule {schedule.id} is due since {schedule.next_run_at}'

    def half_moved(self) -> set[str]:
        """Return the backends that may have copies: of a cut-over that failed, or that the source could not remove."""
        return {
            _home(row.host) for row in self.servers if row.status == 'error' and row.task_state in _HALF_MOVED
        } | {_home(row.host) for row in self.instances if row.status in FAILURES}

    def usage(self) -> dict[str, int]:
        """Return the project's usage, counted from its rows."""
        shares, snapshots = (
            [row for row in rows if not row.deletion_deferred] for rows in (self.shares, self.snapshots)
        )
        by_id = {row.id: row for row in shares if row.replication_type}
        sizes = [row.size for row in by_id.values()] + [by_id[row.share_id].size for row in self.replicas]
        return {
            'shares': len(shares),
            'gigabytes': sum(row.size for row in shares),
            'share_networks': len(self.networks),
            'snapshots': len(snapshots),
            'share_groups': len(self.groups),
            'share_group_snapshots': len(self.group_snapshots),
            'backups': len(self.backups),
            'backup_gigabytes': sum(row.size for row in self.backups),
            'snapshot_gigabytes': sum(row.size for row in snapshots),
            'share_replicas': len(sizes),
            'replica_gigabytes': sum(sizes),
        }


_members, _group_snapshots = models.share_group_snapshot_members, models.share_group_snapshots
_shares, _instances, _networks, _servers = (
    models.shares,
    models.share_instances,
    models.share_networks,
    models.share_servers,
)
_subnets = models.share_network_subnets


def _count(table: sa.Table, condition: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).select_from(table).where(condition).scalar_subquery()


_mapped, _used = models.share_server_share_network_subnet_mappings, models.share_network_security_services
#: The rows of each kind, each with its project, which the column after the query has, too.
_QUERIES: dict[str, tuple[sa.Select, sa.ColumnElement[str]]] = {
    'schedules': (sa.select(models.schedules), models.schedules.c.project_id),
    'shares': (
        sa.select(
            _shares,
            _instances.c.id.label('instance_id'),
            _instances.c.host,
            _instances.c.status,
            _instances.c.share_server_id,
            _instances.c.access_rules_status,
        ).join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary)),
        _shares.c.project_id,
    ),
    'instances': (
        sa.select(_instances, _shares.c.project_id)
        .join(_shares, _shares.c.id == _instances.c.share_id)
        .where(_instances.c.is_secondary),
        _shares.c.project_id,
    ),
    'rules': (
        sa.select(models.access_rules, _shares.c.project_id).join(
            _shares, models.access_rules.c.share_id == _shares.c.id
        ),
        _shares.c.project_id,
    ),
    'networks': (sa.select(_networks), _networks.c.project_id),
    'subnets': (
        sa.select(_subnets, _networks.c.project_id, _networks.c.status).join(
            _networks, _networks.c.id == _subnets.c.share_network_id
        ),
        _networks.c.project_id,
    ),
    'servers': (
        sa.select(
            _servers,
            _networks.c.project_id,
            _count(
                models.network_allocations, models.network_allocations.c.share_server_id == _servers.c.id
            ).label('addresses'),
            _count(_mapped, _mapped.c.share_server_id == _servers.c.id).label('subnets'),
            _count(_used, _used.c.share_network_id == _servers.c.share_network_id).label('services'),
        ).join(_networks, _networks.c.id == _servers.c.share_network_id),
        _networks.c.project_id,
    ),
    'operations': (sa.select(models.operations), models.operations.c.project_id),
    'messages': (sa.select(models.messages), models.messages.c.project_id),
    'snapshots': (sa.select(models.snapshots), models.snapshots.c.project_id),
    'snapshot_rules': (
        sa.select(models.snapshot_access_rules, models.snapshots.c.project_id).join(models.snapshots),
        models.snapshots.c.project_id,
    ),
    'backups': (sa.select(models.share_backups), models.share_backups.c.project_id),
    'groups': (sa.select(models.share_groups), models.share_groups.c.project_id),
    'group_snapshots': (sa.select(_group_snapshots), _group_snapshots.c.project_id),
    'members': (
        sa.select(_members, _group_snapshots.c.status, _group_snapshots.c.project_id).join(
            _group_snapshots, _group_snapshots.c.id == _members.c.share_group_snapshot_id
        ),
        _group_snapshots.c.project_id,
    ),
}


def read(engine: sa.Engine, only: Collection[str] | None = None) -> dict[str, Rows]:
    """Return all rows of the database by project, as of one moment; or those of ``only`` these projects."""
    projects: dict[str, Rows] = collections.defaultdict(Rows)
    level = 'SERIALIZABLE' if engine.dialect.name == 'sqlite' else 'REPEATABLE READ'
    with engine.connect().execution_options(isolation_level=level) as conn:
        for name, (query, project) in _QUERIES.items():
            for row in conn.execute(query if only is None else query.where(project.in_(only))):
                rows = projects[row.project_id or '']
                is_replica = name == 'instances' and row.replica_state is not None
                getattr(rows, 'replicas' if is_replica else name).append(row)
    return projects


class Backends:
    """The content of all dummy backends together, on disk."""

    def __init__(self, state: Any, names: tuple[str, ...]):
        self.state = state
        self.stores = {name: Store(state / name) for name in names}
        self.shares: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        self.snapshots: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        self.servers: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        self.backups: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        for name, store in self.stores.items():
            with store.locked():
                for kind, records in (
                    (store.shares, self.shares),
                    (store.snapshots, self.snapshots),
                    (store.servers, self.servers),
                    (store.backups, self.backups),
                ):
                    for record in kind.all():
                        if getattr(record, 'ours', True):  # unmanaged ones must stay
                            records[record.id][name] = record

    def differences(self, rows: Rows) -> Iterator[str]:
        """Yield the differences between backends and the project's rows."""
        rules: dict[str, set[str]] = collections.defaultdict(set)
        for rule in rows.rules:
            if rule.state == 'active':
                rules[rule.share_id].add(rule.id)
        moving = rows.half_moved()
        for replica in rows.replicas:
            yield from self._replica(replica, rules[replica.share_id])
        for share in rows.shares:
            yield from self._share(share, rules[share.id], moving)
        homes = {share.id: _home(share.host) for share in rows.shares}
        for snapshot in rows.snapshots:
            held = set(self.snapshots.get(snapshot.id, ()))
            home = {homes.get(snapshot.share_id, '')}
            if snapshot.status == 'available' and not home <= held <= home | moving:
                yield f'lost: snapshot {snapshot.id} is available, and on the backends {sorted(held)} instead of {sorted(home)}'
            elif snapshot.status == 'available' and self._is_mounted_by_others(
                snapshot, home, rows.snapshot_rules
            ):
                yield f'wrong: snapshot {snapshot.id} is mounted by others than its rules say'
            elif held - home - moving:
                yield f'orphan: snapshot {snapshot.id} is on the backends {sorted(held - home)} as well'

        yield from self._of_copies(rows, homes)
        for server in rows.servers:
            yield from self._server(server)

    def _backup(self, backup: Any) -> Iterator[str]:
        held, home = self.backups.get(backup.id, {}), _home(backup.host)
        if set(held) - {home}:
            yield f'orphan: backup {backup.id} of {home} is on {sorted(set(held) - {home})} as well'
        elif backup.status == 'available' and (home not in held or held[home].percent < 100):
            yield f'lost: backup {backup.id} is available, and not on its backend {home}'

    def _of_copies(self, rows: Rows, homes: dict[str, str]) -> Iterator[str]:
        for backup in rows.backups:
            yield from self._backup(backup)
        for member in rows.members:
            held, home = set(self.snapshots.get(member.id, ())), homes.get(member.share_id, '')
            if member.status == 'available' and held != {home}:
                yield f'lost: member {member.id} of a group snapshot is on the backends {sorted(held)} instead of {home}'

    def _is_mounted_by_others(self, snapshot: Any, home: set[str], rules: list[Any]) -> bool:
        mine = {rule.id: rule.state for rule in rules if rule.snapshot_id == snapshot.id}
        there = {rule for name in home if name for rule in self.snapshots[snapshot.id][name].rules}
        return set(mine.values()) <= {'active'} and there != set(mine)

    def _replica(self, replica: Any, active: set[str]) -> Iterator[str]:
        held, home = self.shares.get(replica.id, {}), _home(replica.host)
        if set(held) - {home}:
            yield f'orphan: replica {replica.id} of {home or "no backend"} is on {sorted(set(held) - {home})} as well'
        elif replica.status == 'available' and (home not in held or held[home].role != 'replica'):
            yield f'lost: replica {replica.id} is available, and there is none on its backend {home}'
        elif (
            replica.status == 'available'
            and replica.access_rules_status == 'active'
            and set(held[home].rules) != active
        ):
            yield f'wrong: replica {replica.id} has the rules {sorted(active)}, and {sorted(held[home].rules)} at its backend'

    def _server(self, server: Any) -> Iterator[str]:
        held, home = self.servers.get(server.id, {}), _home(server.host)
        if server.addresses != server.subnets and server.status == 'active':
            yield f'wrong: server {server.id} is in {server.subnets} subnets, with {server.addresses} addresses'
        if server.status == 'active' and home not in held:
            yield f'lost: server {server.id} is active, and not on its backend {home}'
        elif server.status == 'active' and sum(map(len, held[home].addresses.values())) != server.addresses:
            yield f'wrong: server {server.id} has {server.addresses} addresses, and {held[home].addresses} at its backend'
        elif server.status == 'active' and len(held[home].services) != server.services:
            yield f'wrong: server {server.id} has {server.services} security services, and {held[home].services} at its backend'
        elif (
            server.status == 'error'
            and not server.addresses
            and held
            and server.task_state not in _HALF_MOVED
        ):
            yield f'orphan: server {server.id} has no address, and is on the backends {sorted(held)}'

    def _share(self, share: Any, active: set[str], moving: set[str]) -> Iterator[str]:
        held = self.shares.get(share.instance_id, {})
        home = _home(share.host)
        if set(held) - {home} - moving:
            yield f'orphan: share {share.id} of {home or "no backend"} is on the backends {sorted(set(held) - {home})} as well'
        record = held.get(home)
        if record is None:
            if share.status in _SERVED:
                yield f'lost: share {share.id} is {share.status}, and not on its backend {home}'
            return
        if share.status == 'available' and files.has_lost(
            self.state, share.id, files.name(share.instance_id, home, on_server=bool(share.share_server_id))
        ):
            yield f'lost: the file of share {share.id}'
        if share.status == 'available' and record.size != share.size:
            yield f'wrong: share {share.id} has {share.size} GiB, and {record.size} at its backend'
        if (
            share.status == 'available'
            and share.access_rules_status == 'active'
            and set(record.rules) != active
        ):
            yield f'wrong: share {share.id} has the rules {sorted(active)}, and {sorted(record.rules)} at its backend'
        if set(record.rules) - active and share.access_rules_status == 'active':
            yield f'wrong: share {share.id} lets in whom no rule names'

    def orphans(self, projects: dict[str, Rows]) -> Iterator[tuple[str, str]]:
        """Yield (project, problem) for each resource that a backend has without a row."""
        known = {share.instance_id for rows in projects.values() for share in rows.shares}
        known |= {instance.id for rows in projects.values() for instance in (*rows.instances, *rows.replicas)}
        known |= {snapshot.id for rows in projects.values() for snapshot in rows.snapshots}
        known |= {server.id for rows in projects.values() for server in rows.servers}
        known |= {backup.id for rows in projects.values() for backup in rows.backups}
        known |= {member.id for rows in projects.values() for member in rows.members}
        yield from self._files_without_rows(projects, known)
        owners = {
            resource_id: project
            for project, rows in projects.items()
            for op in rows.operations
            for resource_id in (op.mutex_key, op.resource_id)
        }
        for resource_type, records in (
            ('share', self.shares),
            ('snapshot', self.snapshots),
            ('server', self.servers),
            ('backup', self.backups),
        ):
            for resource_id in set(records) - known:
                yield (
                    owners.get(resource_id, ''),
                    (
                        f'orphan: {resource_type} {resource_id} is on {sorted(records[resource_id])}, and no row tells of it'
                    ),
                )

    def _files_without_rows(self, projects: dict[str, Rows], known: set[str]) -> Iterator[tuple[str, str]]:
        owners = {
            op.data[name]: project
            for project, rows in projects.items()
            for op in rows.operations
            for name in ('target', 'instance')
            if (op.data or {}).get(name)
        }
        owners |= {
            instance_id: project
            for project, rows in projects.items()
            for op in rows.operations
            for instance_id in (op.data or {}).get('copies', ())
        }
        waiting = {instance.id for rows in projects.values() for instance in rows.instances}
        waiting |= {
            share.instance_id
            for rows in projects.values()
            for share in rows.shares
            if share.status == states.SHARE['server_migrate'].during
        }
        for instance_id, what in files.of_instances(self.state):
            if instance_id in owners and instance_id not in (known if what == 'files' else waiting):
                yield owners[instance_id], f'orphan: {what} of instance {instance_id}, and no row tells of it'


def _home(host: str | None) -> str:
    return (host or '').partition('@')[2].partition('#')[0]


def quota(deployment: Any, project: str, rows: Rows) -> Iterator[str]:
    """Yield the differences between quota usage and the rows."""
    document = deployment.ok('GET', f'/quota-sets/{project}/detail')['quota_set']
    for name, truth in rows.usage().items():
        said = document[name]['in_use'] + document[name]['reserved']
        if said != truth:
            yield f'quota: it says {said} {name}, and there are {truth}'


def untold(rows: Rows) -> Iterator[str]:
    """Yield failures without a message to the owner."""
    explained = {row.resource_id for row in rows.messages}
    for resource_type in ('share', 'replica', 'snapshot', 'group', 'group_snapshot', 'backup'):
        for resource_id, state in rows.of(resource_type).items():
            if state in FAILURES and resource_id not in explained:
                yield f'untold: {resource_type} {resource_id} is {state}, and no message tells why'
    for rule in rows.rules:
        if rule.state in FAILURES and rule.share_id not in explained:
            yield f'untold: rule {rule.id} is {rule.state}, and no message of its share tells why'
    for rule in rows.snapshot_rules:
        if rule.state in FAILURES and rule.snapshot_id not in explained:
            yield f'untold: rule {rule.id} is {rule.state}, and no message of its snapshot tells why'
