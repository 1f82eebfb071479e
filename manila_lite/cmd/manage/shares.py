# SPDX-License-Identifier: Apache-2.0
"""``manila-manage share``: records of shares whose hosts are renamed or whose backends are lost. No backend is contacted."""

import argparse
from collections.abc import Sequence
from typing import Any

from manila_lite import context, errors
from manila_lite.cmd.manage.command import GOOD, Call, Command, argument, one_of
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    hosts,
    operations,
    services,
    share_backups,
    share_group_snapshots,
    share_records,
    shares,
    snapshots,
)

_FORCE = ' Add --force to do it anyway.'
#: Statuses of shares that are of no use to their owners.
_BROKEN = ('error', 'error_deleting', 'inactive')


def update_host(call: Call) -> int:
    """Assign all shares of a host, backend or pool to another one, with their pools and open operations.

    Names: host, host@backend or host@backend#pool. Use it after a host was renamed, or its storage was connected to another
    host. The data is not moved.
    """
    old, new = call.args.currenthost, call.args.newhost
    if _shape(old) != _shape(new) or old == new:
        raise errors.Invalid(
            '--currenthost and --newhost must be two names of one kind: host, host@backend or '
            'host@backend#pool'
        )
    with call.db.writer() as conn:
        if not call.args.force:
            _check(call, conn, old, new)
        moved = hosts.move_resources(conn, old, new)
    print(f'From {old} to {new}: ' + ', '.join(f'{count} {what}' for what, count in moved.items()) + '.')
    return GOOD


def _shape(host: str) -> tuple[bool, bool]:
    host, pool, name = host.partition('#')
    front, backend, section = host.partition('@')
    if not front or (pool and not (name and backend)) or (backend and not section):
        raise errors.Invalid(f'{host}{pool}{name} is neither host nor host@backend nor host@backend#pool')
    return bool(backend), bool(pool)


def _check(call: Call, conn: Connection, old: str, new: str) -> None:
    backend = old.partition('#')[0]
    if not hosts.exists(conn, new):
        raise errors.Invalid(
            f'no service reports {new}: start its manila-share first, and see "manila-manage host list".'
            f'{_FORCE}'
        )
    if new.partition('#')[0] == backend:
        return
    up = [
        row.host
        for row in services.list_services(conn, {'binary': 'manila-share'})
        if hosts.is_below(row.host, backend) and services.is_up(row, call.conf.service_down_time)
    ]
    if up:
        raise errors.Conflict(f'{", ".join(up)} is up: stop it first.{_FORCE}')
    if busy := hosts.count_claimed_operations(conn, old):
        raise errors.Conflict(
            f'{errors.count(busy, "operation")} of {backend} in progress: wait until the leases end.{_FORCE}'
        )


def delete(call: Call) -> int:
    """Delete the record of a share, with its access rules and snapshots. Its data at the backend stays there."""
    share_id = call.args.share
    ctx = context.admin(context.Services(conf=call.conf, db=call.db))
    with call.db.writer() as conn:
        share = shares.get(conn, ctx, share_id)
        work = share_records.list_open_operations(conn, share_id)
        instances = share_records.list_instances(conn, share_id)
        if count := share_backups.count_of(conn, share_id):
            raise errors.Conflict(
                f'share {share_id} has {errors.count(count, "backup")}, which need its record: '
                f'delete {errors.them(count)} first, or forget '
                'them with "manila-manage share_backup delete".'
            )
        if not call.args.force:
            _refuse(conn, share, work, instances)
        for row in {(row.resource_id, row.kind) for row in work}:
            operations.supersede(conn, row[0], (row[1],))
        gone = share_records.delete_snapshots(conn, share_id)
        shares.delete(conn, (share_id,))
    more = f', and of {errors.count(gone, "snapshot")}' if gone else ''
    print(
        f'The record of share {share_id} is gone{more}. No backend was touched: '
        f'there may still be {_named(instances)}.'
    )
    return GOOD


def _named(instances: list[tuple[str, str | None]]) -> str:
    return ', '.join(f'instance {instance_id} on {host or "no host"}' for instance_id, host in instances)


def _refuse(conn: Connection, share: Any, work: list[Any], instances: list[tuple[str, str | None]]) -> None:
    if others := instances[1:]:
        raise errors.Conflict(
            f'share {share.id} also has {_named(others)}, which would be deleted with it: promote or delete '
            f'{errors.them(len(others))} first.{_FORCE}'
        )
    if share.status not in _BROKEN and not share.status.endswith('_error'):
        raise errors.WrongState(
            f'share {share.id} is {share.status}: delete it with "openstack share delete".{_FORCE}'
        )
    if any(row.held for row in work):
        raise errors.WrongState(
            f'share {share.id} has an operation in progress: wait until that has ended.{_FORCE}'
        )
    if count := snapshots.count_of(conn, share.id):
        raise errors.Conflict(
            f'share {share.id} has {errors.count(count, "snapshot")}: delete {errors.them(count)} '
            f'first.{_FORCE}'
        )
    if count := share_group_snapshots.count_members(conn, share.id):
        raise errors.Conflict(
            f'share {share.id} is in {errors.count(count, "snapshot")} of its group: delete '
            f'{errors.them(count)} first.{_FORCE}'
        )


COMMANDS: Sequence[Command] = (
    Command(
        'share',
        'update_host',
        update_host,
        [
            argument(
                '--currenthost',
                required=True,
                metavar='HOST',
                help='host, backend or pool of the shares in the records',
            ),
            argument(
                '--newhost', required=True, metavar='HOST', help='actual host, backend or pool of the shares'
            ),
            argument(
                '--force',
                action='store_true',
                help='even if no service reports the new host, or the old host is up',
            ),
        ],
    ),
    Command(
        'share',
        'delete',
        delete,
        [
            one_of(
                argument('share', nargs='?', default=argparse.SUPPRESS, help='id of the share'),
                argument('--share_id', dest='share', metavar='SHARE', help='id of the share; old spelling'),
            ),
            argument(
                '--force',
                action='store_true',
                help='in any status, with snapshots and replicas, even during an operation on the share',
            ),
        ],
    ),
)
