# SPDX-License-Identifier: Apache-2.0
"""Requests for each kind of operation. A plan that no subject covers fails the tests: add its row here."""

import contextlib
import dataclasses
import datetime
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.drivers.dummy.store import ServerRecord, ShareRecord, Store
from manila_lite.tests.crash import files, places
from manila_lite.tests.factories import shares as share_rows

#: Next action of an operator by the task state of a migration; none is left for others.
_NEXT = {
    None: 'migration_start',
    'migration_driver_phase1_done': 'migration_complete',
    'data_copying_completed': 'migration_complete',
}
#: Seconds for which an operator attends to some work, with hundreds of other stories on their way to their places.
_OPERATOR = 900.0
#: Status of a refusal because of the state.
_CANCELLED = 'migration_cancelled'
_MOVES_NO_MORE = ('migration_success', 'migration_error', _CANCELLED)


class Unmet(AssertionError):
    """A request was accepted, and what it was for did not come true."""


class Cell:
    """The story of one resource, in a project of its own: a request during which a process dies."""

    def __init__(self, deployment: Any, project: str):
        self.deployment = deployment
        self.project = project
        self.share = self.snapshot = self.rule = self.network = self.server = self.service = self.away = (
            self.left
        ) = ''
        self.group_type = self.group = self.replica = self.backup = self.schedule = ''

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed."""
        return self.deployment.ok(method, path, body, self.project)

    def settled(self, table: str, status: str = 'available') -> None:
        """Wait until all resources of that kind in the project have this status."""
        path, key = f'/{table}s/detail', f'{table}s'.replace('-', '_')
        self.deployment.eventually(
            lambda: {row['status'] for row in self.ok('GET', path)[key]} == {status},
            f'{table} of {self.project} is {status}',
        )

    def make_share(self, **more: Any) -> str:
        """Request a share; return its id."""
        return self.ok('POST', '/shares', {'share': {'size': 2, 'share_proto': 'NFS', **more}})['share']['id']

    def with_share(self) -> None:
        """Make a share of 2 GiB."""
        self.share = self.make_share()
        self.settled('share')

    def with_snapshot(self) -> None:
        """Make a share with a snapshot."""
        self.with_share()
        self.take()
        self.settled('snapshot')

    def with_rule(self) -> None:
        """Make a share with an active rule."""
        self.with_share()
        self.grant()
        self.deployment.eventually(
            lambda: self.ok('GET', f'/share-access-rules/{self.rule}')['access']['state'] == 'active', 'rule'
        )

    def with_group_type(self) -> None:
        """Make a share group type."""
        self.group_type = self.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.project, 'share_types': ['default']}},
        )['share_group_type']['id']

    def make_group(self) -> None:
        """Request a share group."""
        self.group = self.ok(
            'POST', '/share-groups', {'share_group': {'share_group_type_id': self.group_type}}
        )['share_group']['id']

    def with_group(self) -> None:
        """Make a share group."""
        self.with_group_type()
        self.make_group()
        self.settled('share-group')

    def with_grouped_share(self) -> None:
        """Make a share group with a share."""
        self.with_group()
        self.share = self.make_share(share_group_id=self.group)
        self.settled('share')

    def take_of_group(self) -> None:
        """Request a group snapshot."""
        self.snapshot = self.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': self.group}}
        )['share_group_snapshot']['id']

    def with_group_snapshot(self) -> None:
        """Make a snapshot of a group with a share."""
        self.with_grouped_share()
        self.take_of_group()
        self.settled('share-group-snapshot')

    def back_up(self) -> None:
        """Request a backup of the share."""
        self.backup = self.ok('POST', '/share-backups', {'share_backup': {'share_id': self.share}})[
            'share_backup'
        ]['id']

    def with_backup(self) -> None:
        """Make a share with a backup."""
        self.with_share()
        self.back_up()
        self.settled('share-backup')

    def restore_backup(self) -> None:
        """Request a restore of the backup."""
        self.ok('POST', f'/share-backups/{self.backup}/action', {'restore': None})

    def with_replicable_share(self) -> None:
        """Make a share that can have replicas and that clients mount."""
        self.deployment.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': f'replicable-{self.project}',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'replication_type': 'readable'},
                }
            },
            self.project,
        )
        self.share = self.make_share(share_type=f'replicable-{self.project}')
        self.settled('share')

    def make_replica(self) -> None:
        """Request a replica."""
        self.replica = self.ok('POST', '/share-replicas', {'share_replica': {'share_id': self.share}})[
            'share_replica'
        ]['id']

    def with_replica(self) -> None:
        """Make a share with a replica that is in sync."""
        self.with_replicable_share()
        self.make_replica()
        self.deployment.eventually(
            lambda: (
                self.ok('GET', f'/share-replicas/{self.replica}')['share_replica']['replica_state']
                == 'in_sync'
            ),
            'replica',
        )

    def with_replica_of_nothing(self) -> None:
        """Make a replica in error that no backend has."""
        self.with_replicable_share()
        self.replica = f'{self.project}-replica'
        with self.deployment.engine.begin() as conn:
            kind = conn.execute(
                sa.select(models.share_instances.c.share_type_id).where(
                    models.share_instances.c.share_id == self.share
                )
            ).scalar()
            share_rows.instance(
                conn,
                self.share,
                self.replica,
                status='error',
                share_type_id=kind,
                is_secondary=True,
                replica_state='error',
            )
            conn.execute(
                models.messages.insert().values(
                    id=f'{self.project}-message',
                    project_id=self.project,
                    resource_id=self.replica,
                    resource_type='SHARE_REPLICA',
                    action_id='001',
                    detail_id='014',
                    message_level='ERROR',
                    created_at=timeutils.utcnow(),
                    expires_at=timeutils.utcnow() + datetime.timedelta(days=1),
                )
            )

    def act_on_replica(self, action: str) -> Any:
        """Request an action on the replica."""
        return self.ok('POST', f'/share-replicas/{self.replica}/action', {action: None})

    def without_backend(self) -> None:
        """Make a share in error that no backend has."""
        with self.deployment.engine.begin() as conn:
            kind = conn.execute(sa.select(models.share_types.c.id)).scalar()
            self.share = f'{self.project:-<36}'
            conn.execute(
                models.shares.insert().values(
                    id=self.share, project_id=self.project, size=2, share_proto='NFS', snapshot_support=True
                )
            )
            share_rows.instance(conn, self.share, self.share, status='error', share_type_id=kind)
            conn.execute(
                models.messages.insert().values(
                    id=self.share,
                    project_id=self.project,
                    resource_type='SHARE',
                    resource_id=self.share,
                    action_id='001',
                    detail_id='002',
                    message_level='ERROR',
                    text='',
                    expires_at=timeutils.utcnow() + datetime.timedelta(days=1),
                )
            )

    def with_snapshot_of_nothing(self) -> None:
        """Make a snapshot in error of a share that no backend has."""
        self.without_backend()
        self.snapshot = self.share
        with self.deployment.engine.begin() as conn:
            conn.execute(
                models.snapshots.insert().values(
                    id=self.snapshot,
                    share_id=self.share,
                    project_id=self.project,
                    status='error',
                    size=2,
                    share_size=2,
                    share_proto='NFS',
                )
            )

    def with_network(self) -> None:
        """Make a share network with one subnet, for the backends that make share servers."""
        self.network = self.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': 'four'}},
        )['share_network']['id']

    def make_served_share(self) -> str:
        """Request a share in the network; return its id."""
        return self.make_share(share_type='served', share_network_id=self.network)

    def with_server(self) -> None:
        """Make a share on a share server."""
        self.with_network()
        self.share = self.make_served_share()
        self.settled('share')
        [server] = self.ok('GET', f'/share-servers?share_network_id={self.network}')['share_servers']
        self.server = server['id']
        self.away = next(
            f'test@{name}' for name in self.deployment.SERVING if f'test@{name}' != server['host']
        )

    def with_idle_server(self) -> None:
        """Make a share server without shares."""
        self.with_server()
        self.ok('DELETE', f'/shares/{self.share}')
        self.deployment.eventually(lambda: not self.ok('GET', '/shares')['shares'], 'the share is gone')

    def add_subnet(self) -> None:
        """Request another subnet."""
        self.ok(
            'POST',
            f'/share-networks/{self.network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'net', 'neutron_subnet_id': 'six'}},
        )

    def with_security_service(self) -> None:
        """Make a share on a share server, and a security service that its network does not use."""
        self.with_server()
        self.service = self.ok('POST', '/security-services', {'security_service': {'type': 'ldap'}})[
            'security_service'
        ]['id']

    def use_security_service(self) -> None:
        """Request that the network use the security service."""
        self.ok(
            'POST',
            f'/share-networks/{self.network}/action',
            {'add_security_service': {'security_service_id': self.service}},
        )

    def change_metadata(self) -> None:
        """Request metadata for the subnet that have a meaning for drivers."""
        [subnet] = self.ok('GET', f'/share-networks/{self.network}/subnets')['share_network_subnets']
        self.ok(
            'POST',
            f'/share-networks/{self.network}/subnets/{subnet["id"]}/metadata',
            {'metadata': {'quality': 'good'}},
        )

    def with_foreign_server(self) -> None:
        """Make a share network, and at its backend an unmanaged server with an address."""
        self.with_network()
        with self.deployment.engine.connect() as conn:
            taken = set(conn.execute(sa.select(models.network_allocations.c.ip_address)).scalars())
        # Other servers get their addresses anywhere in the subnet.
        numbers = itertools.count(int(self.project[1:]), 10000)
        addresses = (f'10.16.{128 + number // 250 % 128}.{number % 250 + 1}' for number in numbers)
        address = next(one for one in addresses if one not in taken)
        self.server = f'nas-{self.project}'
        store = Store(self.deployment.state / 'gamma')
        with store.locked():
            store.servers.put(ServerRecord(self.server, {'lan': [address]}, ours=False))

    def manage(self) -> None:
        """Request to manage that server."""
        self.ok(
            'POST',
            '/share-servers/manage',
            {
                'share_server': {
                    'host': 'test@gamma',
                    'share_network_id': self.network,
                    'identifier': self.server,
                }
            },
        )

    def unmanage(self) -> None:
        """Request to unmanage the server."""
        self.ok('POST', f'/share-servers/{self.server}/action', {'unmanage': {}})

    def with_foreign_share(self) -> None:
        """Make an unmanaged share at a backend."""
        store = Store(self.deployment.state / 'alpha')
        with store.locked():
            store.shares.put(
                ShareRecord(f'nas-{self.project}', 'pool1', 2, 'NFS', f'nas-{self.project}', ours=False)
            )

    def manage_share(self) -> None:
        """Request to manage that share."""
        self.ok(
            'POST',
            '/shares/manage',
            {
                'share': {
                    'service_host': 'test@alpha#pool1',
                    'protocol': 'NFS',
                    'export_path': f'10.0.0.1:/shares/nas-{self.project}',
                }
            },
        )

    def with_foreign_snapshot(self) -> None:
        """Make a share, and at its backend an unmanaged snapshot of it."""
        self.with_snapshot()
        self.away = self.ok('GET', f'/snapshots/{self.snapshot}')['snapshot']['provider_location']
        self.unmanage_snapshot()
        self.deployment.eventually(
            lambda: not self.ok('GET', '/snapshots')['snapshots'], 'the snapshot is gone'
        )

    def manage_snapshot(self) -> None:
        """Request to manage that snapshot."""
        self.ok(
            'POST',
            '/snapshots/manage',
            {'snapshot': {'share_id': self.share, 'provider_location': self.away}},
        )

    def unmanage_snapshot(self) -> None:
        """Request to unmanage the snapshot."""
        self.ok('POST', f'/snapshots/{self.snapshot}/action', {'unmanage': None})

    def ask_to_move(self) -> None:
        """Request a check of the server's migration to another backend."""
        self.ok('POST', f'/share-servers/{self.server}/action', {'migration_check': self._move()})

    def ask_to_move_share(self) -> None:
        """Request a migration that no backend here can do, and check that it is over at once."""
        self.ok(
            'POST',
            f'/shares/{self.share}/action',
            {'migration_start': {**self._move_share(), 'nondisruptive': True}},
        )
        state = self.ok('GET', f'/shares/{self.share}')['share']['task_state']
        if state != 'migration_error':
            raise AssertionError(f'the task state is {state}')

    def _move_share(self) -> dict[str, Any]:
        """Return the parameters of the share's migration to the other backend without share servers."""
        here = self.ok('GET', f'/shares/{self.share}')['share']['host']
        away = next(
            name
            for name in self.deployment.BACKENDS
            if name not in (*self.deployment.SERVING, *self.deployment.EVACUATED) and f'@{name}#' not in here
        )
        return {
            'host': f'test@{away}',
            'writable': True,
            'nondisruptive': False,
            'preserve_snapshots': True,
            'preserve_metadata': True,
        }

    def with_files(self) -> None:
        """Make a share with an active rule and a file."""
        self.with_rule()
        self._fill()

    def _fill(self) -> None:
        """Write a file into the share."""
        [instance] = self.ok('GET', f'/shares/{self.share}/instances')['share_instances']
        backend = instance['host'].partition('@')[2].partition('#')[0]
        files.fill(
            self.deployment.state,
            self.share,
            files.name(instance['id'], backend, on_server=bool(self.server)),
        )

    def with_server_with_files(self) -> None:
        """Make a share with a file and an active rule on a share server."""
        self.with_server()
        self._fill()
        self.grant()
        self.deployment.eventually(
            lambda: self.ok('GET', f'/share-access-rules/{self.rule}')['access']['state'] == 'active', 'rule'
        )

    def _copy_server(self) -> dict[str, Any]:
        """Return the parameters of a migration by the host of the other backend that makes share servers."""
        return {**self._move(), 'force_host_assisted_migration': True}

    def copy_server(self) -> None:
        """Do as ``move``, with a copy by the host."""
        self._minded(
            models.share_servers, f'/share-servers/{self.server}/action', self.server, self._copy_server
        )

    def with_server_copied_by_host(self) -> None:
        """Make a share with a file on a share server, and have a host copy it to the other backend."""
        self.with_server_with_files()
        self._copied(models.share_servers, f'/share-servers/{self.server}', self.server, self._copy_server())

    def _copy_share(self) -> dict[str, Any]:
        """Return the parameters of a migration by the host of the other backend."""
        return {
            **dict.fromkeys(self._move_share(), False),
            'host': self._move_share()['host'],
            'force_host_assisted_migration': True,
        }

    def copy_share(self) -> None:
        """Do as ``move_share``, with a copy by the host."""
        self._minded(models.shares, f'/shares/{self.share}/action', self.share, self._copy_share)

    def move_share(self) -> None:
        """Migrate the share to the other backend, as far as that succeeds; repeat requests without an answer."""
        self._minded(models.shares, f'/shares/{self.share}/action', self.share, self._move_share)

    def _move(self) -> dict[str, Any]:
        """Return the parameters of the server's migration to the other backend that makes share servers."""
        return {'host': self.away, 'writable': False, 'nondisruptive': False, 'preserve_snapshots': True}

    def move(self) -> None:
        """Migrate the server to the other backend, as far as that succeeds; repeat requests without an answer."""
        self._minded(models.share_servers, f'/share-servers/{self.server}/action', self.server, self._move)

    def _minded(self, table: Any, path: str, resource_id: str, wanted: Callable[[], dict[str, Any]]) -> None:
        """Do an operator's work for the migration until none is left."""
        end = time.monotonic() + _OPERATOR
        while time.monotonic() < end:
            # The process that should have answered may just have been killed.
            with contextlib.suppress(OSError, sa.exc.OperationalError):
                if self._moved(table, path, resource_id, wanted):
                    return
            time.sleep(0.3)  # sleeps: an operator looks now and then, and gives up in silence

    def _moved(self, table: Any, path: str, resource_id: str, wanted: Callable[[], dict[str, Any]]) -> bool:
        """Do the next action for the migration; say whether none is left."""
        with self.deployment.engine.connect() as conn:
            row = conn.execute(sa.select(table.c.task_state).where(table.c.id == resource_id)).first()
        if row is None or row.task_state in _MOVES_NO_MORE:
            return True
        if action := _NEXT.get(row.task_state):
            self.deployment.call(
                'POST', path, {action: wanted() if action == 'migration_start' else {}}, self.project
            )
        return False

    def with_copied_server(self) -> None:
        """Make a share on a share server, and copy the server to the other backend."""
        self.with_server()
        self._copied(models.share_servers, f'/share-servers/{self.server}', self.server, self._move())

    def with_copied_share(self) -> None:
        """Make a share, and copy it to the other backend without share servers."""
        self.with_share()
        self._copied(models.shares, f'/shares/{self.share}', self.share, self._move_share())

    def with_share_copied_by_host(self) -> None:
        """Make a share with a file, and have a host copy it to the other backend."""
        self.with_files()
        self._copied(models.shares, f'/shares/{self.share}', self.share, self._copy_share())

    def _copied(self, table: Any, path: str, resource_id: str, wanted: dict[str, Any]) -> None:
        def copied() -> bool:
            with self.deployment.engine.connect() as conn:
                return (
                    _NEXT.get(
                        conn.execute(sa.select(table.c.task_state).where(table.c.id == resource_id)).scalar()
                    )
                    == 'migration_complete'
                )

        self.ok('POST', f'{path}/action', {'migration_start': wanted})
        self.deployment.eventually(copied, f'{path} is copied')

    def cancel_by_force(self, path: str) -> None:
        """Request to cancel the migration without its destination."""
        self.ok('POST', f'{path}/action', {'reset_task_state': {'task_state': _CANCELLED}})

    def act(self, action: str, body: Any) -> Any:
        """Request the action on the share."""
        return self.ok('POST', f'/shares/{self.share}/action', {action: body})

    def ensure(self) -> None:
        """Request to ensure all shares of the share's backend, and repeat that while another request is in progress."""
        host = self.ok('GET', f'/shares/{self.share}')['share']['host'].partition('#')[0]

        def begun() -> bool:
            answer = self.deployment.call('POST', '/services/ensure', {'host': host}, self.project)
            if answer[0] not in (202, 409):
                raise AssertionError(f'{host} is not ensured: {answer}')
            return answer[0] == 202

        self._repeat(begun, f'{host} is ensured')

    @staticmethod
    def _repeat(begun: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _OPERATOR
        while not begun():
            if time.monotonic() > end:
                raise AssertionError(f'not in time: {what}')
            time.sleep(0.1)  # sleeps: an operator repeats a request, up to the end above

    def with_share_to_evacuate(self) -> None:
        """Make a share of 2 GiB on a backend that is evacuated."""
        self.share = self.make_share(scheduler_hints={'only_host': f'test@{self.deployment.EVACUATED[0]}'})
        self.settled('share')

    def snap_by_schedule(self) -> None:
        """Make a schedule for the share, and let its time come."""
        body = {'cron': '0 0 1 1 *', 'share_ids': [self.share], 'keep': {'last': 1}}
        self.schedule = self.ok('POST', '/schedules', {'schedule': body})['schedule']['id']
        self.come()

    def come(self) -> None:
        """Let the time of the schedule come."""
        with self.deployment.engine.begin() as conn:
            conn.execute(
                models.schedules.update()
                .where(models.schedules.c.id == self.schedule)
                .values(next_run_at=timeutils.utcnow())
            )

    def with_scheduled_snapshot(self) -> None:
        """Make a share of which a schedule has made a snapshot. Its next run deletes that."""
        self.with_share()
        self.snap_by_schedule()
        path = f'/schedules/{self.schedule}'
        self.deployment.eventually(
            lambda: self.ok('GET', path)['schedule']['last_good_at'], f'the schedule of {self.project} runs'
        )
        self.settled('snapshot')

    def evacuate(self) -> None:
        """Request to evacuate the share's backend, and repeat that while another evacuation is in progress."""
        self.left = self.ok('GET', f'/shares/{self.share}')['share']['host'].partition('#')[0]
        for name in self.deployment.EVACUATED:
            self.deployment.ok('PUT', '/services/enable', {'host': f'test@{name}', 'binary': 'manila-share'})
        wanted = {
            'host': self.left,
            'at_once': 100,
            'destinations': [
                f'test@{name}' for name in self.deployment.EVACUATED if f'test@{name}' != self.left
            ],
        }

        def begun() -> bool:
            answer = self.deployment.call('POST', '/services/evacuate', wanted, self.project)
            if answer[0] not in (202, 409):
                raise AssertionError(f'{self.left} is not evacuated: {answer}')
            return answer[0] == 202

        self._repeat(begun, f'{self.left} is evacuated')

    def ensure_changed(self) -> None:
        """Give the share's backend another address in its section, and request to ensure its shares.

        :raises Unmet: the new address does not reach the share.
        """
        host = self.ok('GET', f'/shares/{self.share}')['share']['host'].partition('#')[0]
        address = self.deployment.change_address(host.partition('@')[2])
        self.ensure()

        def moved() -> bool:
            status, document = self.deployment.call(
                'GET', f'/shares/{self.share}/export_locations', None, self.project
            )
            return status == 200 and any(
                one['path'].startswith(f'{address}:') for one in document['export_locations']
            )

        try:
            self.deployment.eventually(lambda: self._quietly(moved), f'{host} has the address {address}')
        except AssertionError as late:
            raise Unmet(f'the share is not exported at {address}') from late

    @staticmethod
    def _quietly(check: Callable[[], bool]) -> bool:
        with contextlib.suppress(OSError, sa.exc.OperationalError):
            return check()
        return False

    def take(self) -> None:
        """Request a snapshot."""
        self.snapshot = self.ok('POST', '/snapshots', {'snapshot': {'share_id': self.share}})['snapshot'][
            'id'
        ]

    def delete_unseen(self, path: str) -> None:
        """Request a deletion, where deletion is deferred."""
        self.deployment.orders.defer(self.project)
        self.ok('DELETE', path)

    def grant(self) -> None:
        """Request an access rule."""
        self.rule = self.act(
            'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1', 'access_level': 'rw'}
        )['access']['id']

    def let_mount(self) -> None:
        """Request an access rule for the snapshot."""
        self.ok(
            'POST',
            f'/snapshots/{self.snapshot}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.1'}},
        )


def _nothing(cell: Cell) -> None:
    """Make nothing."""


@dataclasses.dataclass(frozen=True)
class Way:
    """A plan of the operation, in a process of ``role``."""

    role: str
    kind: str
    passed_on: bool = False
    passed_back: bool = False

    def places(self) -> Iterator[places.Place]:
        """Yield the places where the process can die."""
        return places.of_plan(self.role, self.kind, passed_on=self.passed_on, passed_back=self.passed_back)


@dataclasses.dataclass(frozen=True)
class Subject:
    """One kind of operation as users know it: it leaves a ``resource_type`` in the state ``good``, of ``size`` GiB if given.

    ``makes``: the resource is new. ``asks``: the request is answered after the backends were asked, and no work begins
    before. ``undone``: its state after a failure, where nothing of the work must be left and all rules be active.
    ``method``: the driver's method, called in step ``method_step``, or else the first one. ``tells`` off: a failure
    is the answer, and no message repeats it. ``also``: other methods that are called. ``task_state``: that of the share or
    server that was to move, however the deletion of its copy ends; after a good end, nothing of the copy is left.
    ``leaves``: after a good end, the share is at another backend. ``timed``: a timer of a scheduler begins it.
    """

    name: str
    prepare: Callable[[Cell], None]
    begin: Callable[[Cell], Any]
    ways: tuple[Way, ...]
    resource_type: str
    good: str
    method: str | None = None
    makes: bool = False
    size: int | None = None
    asks: bool = False
    method_step: str = ''
    tells: bool = True
    also: tuple[str, ...] = ()
    undone: str = ''
    task_state: str = ''
    leaves: bool = False
    timed: bool = False

    @property
    def answers(self) -> bool:
        """Whether the driver's refusal is an answer, not a failure."""
        return self.asks and not self.tells


_CREATE = (Way('scheduler', 'share.create', passed_on=True), Way('share', 'share.create', passed_back=True))
_EXTEND = (Way('scheduler', 'share.extend', passed_on=True), Way('share', 'share.extend'))


def _here(kind: str) -> tuple[Way, ...]:
    return (Way('share', kind),)


def _by_host() -> tuple[Subject, ...]:
    """Return the migrations of shares by a host that copies their files, unless this machine cannot."""
    return (
        ()
        if files.lacks()
        else (
            Subject(
                'move a share by its host',
                Cell.with_files,
                Cell.copy_share,
                (
                    Way('scheduler', 'share.migrate', passed_on=True),
                    Way('share', 'share.migrate'),
                    Way('share', 'access.sync'),
                    Way('share', 'share.close'),
                    Way('share', 'share.release'),
                ),
                'share',
                'available',
                'create_share',
                method_step='start',
                size=2,
                also=('update_access',),
            ),
            Subject(
                'cancel the move of a share by its host by force',
                Cell.with_share_copied_by_host,
                lambda cell: cell.cancel_by_force(f'/shares/{cell.share}'),
                _here('share.clear'),
                'share',
                'available',
                'delete_share',
                size=2,
                task_state=_CANCELLED,
            ),
            Subject(
                'move a share server by its host',
                Cell.with_server_with_files,
                Cell.copy_server,
                (
                    Way('scheduler', 'share_server.migrate', passed_on=True),
                    Way('share', 'share_server.migrate'),
                    Way('share', 'share_server.apply_rules'),
                    Way('share', 'share_server.readdress'),
                    Way('share', 'access.sync'),
                    Way('share', 'share_server.close'),
                    Way('share', 'share_server.release'),
                ),
                'server',
                'gone',
                'setup_server',
                method_step='start',
                also=('create_share', 'update_access', 'ensure_servers', 'ensure_shares'),
            ),
            Subject(
                'cancel the move of a share server by its host by force',
                Cell.with_server_copied_by_host,
                lambda cell: cell.cancel_by_force(f'/share-servers/{cell.server}'),
                _here('share_server.clear'),
                'share',
                'available',
                'delete_share',
                size=2,
                method_step='clear',
                task_state=_CANCELLED,
            ),
        )
    )


#: Subjects whose end holds what others need (a pool's row) come last.
SUBJECTS = (
    Subject(
        'create a share',
        _nothing,
        Cell.make_share,
        _CREATE,
        'share',
        'available',
        'create_share',
        makes=True,
        size=2,
    ),
    Subject(
        'create a share from a snapshot',
        Cell.with_snapshot,
        lambda cell: cell.make_share(snapshot_id=cell.snapshot),
        _CREATE,
        'share',
        'available',
        'create_share_from_snapshot',
        makes=True,
        size=2,
    ),
    Subject(
        'extend a share',
        Cell.with_share,
        lambda cell: cell.act('extend', {'new_size': 3}),
        _EXTEND,
        'share',
        'available',
        'extend_share',
        size=3,
    ),
    Subject(
        'shrink a share',
        Cell.with_share,
        lambda cell: cell.act('shrink', {'new_size': 1}),
        _here('share.shrink'),
        'share',
        'available',
        'shrink_share',
        size=1,
    ),
    Subject(
        'revert a share',
        Cell.with_snapshot,
        lambda cell: cell.act('revert', {'snapshot_id': cell.snapshot}),
        _here('share.revert'),
        'share',
        'available',
        'revert_to_snapshot',
        size=2,
    ),
    Subject(
        'take a snapshot',
        Cell.with_share,
        Cell.take,
        _here('snapshot.create'),
        'snapshot',
        'available',
        'create_snapshot',
        makes=True,
    ),
    Subject(
        'let mount a snapshot',
        Cell.with_snapshot,
        Cell.let_mount,
        _here('snapshot.serve'),
        'snapshot_rule',
        'active',
        'serve_snapshot',
        makes=True,
    ),
    Subject(
        'delete a snapshot',
        Cell.with_snapshot,
        lambda cell: cell.ok('DELETE', f'/snapshots/{cell.snapshot}'),
        _here('snapshot.delete'),
        'snapshot',
        'gone',
        'delete_snapshot',
    ),
    Subject(
        'grant access',
        Cell.with_share,
        Cell.grant,
        _here('access.sync'),
        'rule',
        'active',
        'update_access',
        makes=True,
    ),
    Subject(
        'deny access',
        Cell.with_rule,
        lambda cell: cell.act('deny_access', {'access_id': cell.rule}),
        _here('access.sync'),
        'rule',
        'gone',
        'update_access',
    ),
    Subject(
        'create a share group',
        Cell.with_group_type,
        Cell.make_group,
        (Way('scheduler', 'share_group.create', passed_on=True), Way('share', 'share_group.create')),
        'group',
        'available',
        makes=True,
    ),
    Subject(
        'delete a share group',
        Cell.with_group,
        lambda cell: cell.ok('DELETE', f'/share-groups/{cell.group}'),
        (Way('scheduler', 'share_group.delete'),),
        'group',
        'gone',
    ),
    Subject(
        'take a group snapshot',
        Cell.with_grouped_share,
        Cell.take_of_group,
        _here('share_group_snapshot.create'),
        'group_snapshot',
        'available',
        'create_group_snapshot',
        makes=True,
        method_step='take_snapshots',
    ),
    Subject(
        'back a share up',
        Cell.with_share,
        Cell.back_up,
        _here('share_backup.create'),
        'backup',
        'available',
        'create_backup_continue',
        makes=True,
        method_step='copy',
        also=('create_backup',),
    ),
    Subject(
        'delete a backup',
        Cell.with_backup,
        lambda cell: cell.ok('DELETE', f'/share-backups/{cell.backup}'),
        _here('share_backup.delete'),
        'backup',
        'gone',
        'delete_backup',
    ),
    Subject(
        'create a replica',
        Cell.with_replicable_share,
        Cell.make_replica,
        (Way('scheduler', 'replica.create', passed_on=True), Way('share', 'replica.create')),
        'replica',
        'available',
        'create_replica',
        makes=True,
        method_step='create',
    ),
    Subject(
        'bring a replica up to date',
        Cell.with_replica,
        lambda cell: cell.act_on_replica('resync'),
        _here('replica.update'),
        'replica',
        'available',
        'update_replica',
    ),
    Subject(
        'tell a replica of rules',
        Cell.with_replica,
        Cell.grant,
        _here('replica.access'),
        'rule',
        'active',
        makes=True,
    ),
    # The former active instance takes its place: the replica is no replica any more.
    Subject(
        'promote a replica',
        Cell.with_replica,
        lambda cell: cell.act_on_replica('promote'),
        _here('replica.promote'),
        'replica',
        'gone',
        'promote_replica',
        method_step='promote',
    ),
    Subject(
        'delete a replica',
        Cell.with_replica,
        lambda cell: cell.ok('DELETE', f'/share-replicas/{cell.replica}'),
        _here('replica.delete'),
        'replica',
        'gone',
        'delete_replica',
    ),
    Subject(
        'delete a replica of no backend',
        Cell.with_replica_of_nothing,
        lambda cell: cell.ok('DELETE', f'/share-replicas/{cell.replica}'),
        (Way('scheduler', 'replica.delete'),),
        'replica',
        'gone',
    ),
    Subject(
        'delete a snapshot of no backend',
        Cell.with_snapshot_of_nothing,
        lambda cell: cell.ok('DELETE', f'/snapshots/{cell.snapshot}'),
        (Way('scheduler', 'snapshot.delete'),),
        'snapshot',
        'gone',
    ),
    Subject(
        'delete a share of no backend',
        Cell.without_backend,
        lambda cell: cell.ok('DELETE', f'/shares/{cell.share}'),
        (Way('scheduler', 'share.delete'),),
        'share',
        'gone',
    ),
    Subject(
        'make a share server',
        Cell.with_network,
        Cell.make_served_share,
        _here('share_server.create'),
        'share',
        'available',
        'setup_server',
        makes=True,
        size=2,
        method_step='configure',
    ),
    Subject(
        'ask for a subnet',
        Cell.with_server,
        Cell.add_subnet,
        _here('subnet.check'),
        'subnet',
        'active',
        'check_update_share_server_network_allocations',
        makes=True,
        asks=True,
    ),
    Subject(
        'add a subnet',
        Cell.with_server,
        Cell.add_subnet,
        _here('share_server.add_subnet'),
        'server',
        'active',
        'update_share_server_network_allocations',
        asks=True,
        method_step='add',
        undone='active',
    ),
    Subject(
        'ask for a security service',
        Cell.with_security_service,
        Cell.use_security_service,
        _here('security_service.check'),
        'network',
        'active',
        'check_update_share_server_security_service',
        asks=True,
    ),
    Subject(
        'use a security service',
        Cell.with_security_service,
        Cell.use_security_service,
        _here('share_server.update_security_service'),
        'server',
        'active',
        'update_share_server_security_service',
        asks=True,
    ),
    Subject(
        'tell of the metadata of a subnet',
        Cell.with_server,
        Cell.change_metadata,
        _here('share_server.push_metadata'),
        'server',
        'active',
        'update_share_network_subnet_from_metadata',
    ),
    Subject(
        'delete a snapshot unseen',
        Cell.with_snapshot,
        lambda cell: cell.delete_unseen(f'/snapshots/{cell.snapshot}'),
        _here('snapshot.deferred_delete'),
        'snapshot',
        'gone',
        'delete_snapshot',
        tells=False,
    ),
    Subject(
        'delete a share unseen',
        Cell.with_rule,
        lambda cell: cell.delete_unseen(f'/shares/{cell.share}'),
        _here('share.deferred_delete'),
        'share',
        'gone',
        'delete_share',
        tells=False,
    ),
    Subject(
        'ask whether a server can move',
        Cell.with_server,
        Cell.ask_to_move,
        (
            Way('scheduler', 'share_server.migration_check', passed_on=True),
            Way('share', 'share_server.migration_check'),
        ),
        'server',
        'active',
        'share_server_migration_check_compatibility',
        asks=True,
        tells=False,
    ),
    Subject(
        'move a share server',
        Cell.with_server,
        Cell.move,
        (
            Way('scheduler', 'share_server.migrate', passed_on=True),
            Way('share', 'share_server.migrate'),
            Way('share', 'share_server.apply_rules'),
            Way('share', 'share_server.release'),
        ),
        'server',
        'gone',
        'share_server_migration_complete',
        method_step='cut_over',
        also=(
            'share_server_migration_start',
            'share_server_migration_continue',
            'share_server_migration_get_progress',
        ),
    ),
    Subject(
        'ask whether a share can move',
        Cell.with_snapshot,
        Cell.ask_to_move_share,
        (Way('scheduler', 'share.migration_check', passed_on=True), Way('share', 'share.migration_check')),
        'share',
        'available',
        'share_migration_check_compatibility',
        asks=True,
        tells=False,
        size=2,
    ),
    Subject(
        'move a share',
        Cell.with_snapshot,
        Cell.move_share,
        (
            Way('scheduler', 'share.migrate', passed_on=True),
            Way('share', 'share.migrate'),
            Way('share', 'share.close'),
            Way('share', 'share.release'),
        ),
        'share',
        'available',
        'share_migration_complete',
        method_step='cut_over',
        size=2,
        also=('share_migration_start', 'share_migration_continue', 'share_migration_get_progress'),
    ),
    *_by_host(),
    Subject(
        'cancel the move of a share server by force',
        Cell.with_copied_server,
        lambda cell: cell.cancel_by_force(f'/share-servers/{cell.server}'),
        _here('share_server.clear'),
        'share',
        'available',
        'share_server_migration_cancel',
        size=2,
        method_step='clear',
        task_state=_CANCELLED,
    ),
    Subject(
        'cancel the move of a share by force',
        Cell.with_copied_share,
        lambda cell: cell.cancel_by_force(f'/shares/{cell.share}'),
        _here('share.clear'),
        'share',
        'available',
        'share_migration_cancel',
        size=2,
        task_state=_CANCELLED,
    ),
    Subject(
        'delete a group snapshot',
        Cell.with_group_snapshot,
        lambda cell: cell.ok('DELETE', f'/share-group-snapshots/{cell.snapshot}'),
        _here('share_group_snapshot.delete'),
        'group_snapshot',
        'gone',
        'delete_snapshot',
        method_step='delete_snapshots',
    ),
    Subject(
        'restore a backup',
        Cell.with_backup,
        Cell.restore_backup,
        _here('share_backup.restore'),
        'share',
        'available',
        'restore_backup_continue',
        method_step='restore',
        size=2,
        also=('restore_backup',),
    ),
    Subject(
        'delete a share server',
        Cell.with_idle_server,
        lambda cell: cell.ok('DELETE', f'/share-servers/{cell.server}'),
        _here('share_server.delete'),
        'server',
        'gone',
        'teardown_server',
    ),
    Subject(
        'manage a share server',
        Cell.with_foreign_server,
        Cell.manage,
        _here('share_server.manage'),
        'server',
        'active',
        'manage_server',
        makes=True,
        method_step='manage',
    ),
    Subject(
        'unmanage a share server',
        Cell.with_idle_server,
        Cell.unmanage,
        _here('share_server.unmanage'),
        'server',
        'gone',
        'unmanage_server',
    ),
    Subject(
        'manage a share',
        Cell.with_foreign_share,
        Cell.manage_share,
        _here('share.manage'),
        'share',
        'available',
        'manage_share',
        makes=True,
        size=2,
    ),
    Subject(
        'unmanage a share',
        Cell.with_rule,
        lambda cell: cell.act('unmanage', None),
        _here('share.unmanage'),
        'share',
        'gone',
        'unmanage_share',
    ),
    Subject(
        'manage a snapshot',
        Cell.with_foreign_snapshot,
        Cell.manage_snapshot,
        _here('snapshot.manage'),
        'snapshot',
        'available',
        'manage_snapshot',
        makes=True,
    ),
    Subject(
        'unmanage a snapshot',
        Cell.with_snapshot,
        Cell.unmanage_snapshot,
        _here('snapshot.unmanage'),
        'snapshot',
        'gone',
        'unmanage_snapshot',
    ),
    Subject(
        'run a schedule',
        Cell.with_share,
        Cell.snap_by_schedule,
        (Way('scheduler', 'schedule.run'),),
        'snapshot',
        'available',
        makes=True,
        timed=True,
    ),
    Subject(
        'run a schedule that deletes',
        Cell.with_scheduled_snapshot,
        Cell.come,
        (Way('scheduler', 'schedule.run'),),
        'snapshot',
        'gone',
        timed=True,
    ),
    Subject(
        'delete a share',
        Cell.with_rule,
        lambda cell: cell.ok('DELETE', f'/shares/{cell.share}'),
        _here('share.delete'),
        'share',
        'gone',
        'delete_share',
    ),
)


#: Operations on a whole backend, which run one after the other, and beside no other. If one is refused before it came
#: to any share, no user is told.
ALONE = (
    Subject(
        'ensure a backend',
        Cell.with_rule,
        Cell.ensure,
        _here('service.ensure'),
        'share',
        'available',
        size=2,
        tells=False,
    ),
    Subject(
        'ensure with a changed section',
        Cell.with_rule,
        Cell.ensure_changed,
        _here('service.ensure'),
        'share',
        'available',
        size=2,
        tells=False,
    ),
)


#: Operations that move everything off a backend, one after the other.
EVACUATIONS = (
    Subject(
        'evacuate a backend',
        Cell.with_share_to_evacuate,
        Cell.evacuate,
        (Way('scheduler', 'service.evacuate'),),
        'share',
        'available',
        size=2,
        tells=False,
        leaves=True,
    ),
)


def covered() -> set[tuple[str, str]]:
    """Return (role, kind) of every plan that has a row."""
    return {(way.role, way.kind) for subject in (*SUBJECTS, *ALONE, *EVACUATIONS) for way in subject.ways}
