# SPDX-License-Identifier: Apache-2.0
"""Access of this host to both sides of a share that it copies.

The source admits it by an access rule of its own, which ``db/queries/access.py`` adds to those of the share, and the
destination's driver by one that no row has, since nobody else may reach the copy yet.
"""

import dataclasses
import time

from manila_lite import encryption, errors, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Wake, Work
from manila_lite.manager.plans.task import plain
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.access import apply_rules

#: Seconds between looks whether the source's backend admits this host.
_LOOK = 0.2
#: Keys of the operation's data: the clients that the source admits, and since when that is asked for; those to which its
#: snapshots were opened, by their ids; the target's export locations.
_LET_IN, _ASKED, _OPENED, _EXPORTS = 'let_in', 'let_in_asked', 'snapshots_opened', 'exports'


def let_in(work: Work, migration: values.ShareMigration, snapshot: values.Snapshot | None = None) -> str | None:
    """Have the source's backend admit this host, for reading, to the snapshot, too. Return the key that it gave, if any.

    :raises errors.Again: it has not done it yet.
    :raises errors.Final: it has not done it for too long, or there is no route to it.
    """
    data, conf = work.data, work.ctx.conf
    clients = ','.join(access.copier_text(one.type, one.to) for one in work.service.moves.clients_of(migration.source))
    if not clients:
        return None
    if snapshot is not None and work.service.moves.has_snapshots_inside(migration.source):
        snapshot = None
    with work.ctx.db.writer() as conn:
        access.lock(conn, work.resource_id)
        work.hold(conn)
        wakes = _ask(conn, work, clients, snapshot)
        telling = rows.is_open(conn, access.open_key(work.resource_id)) or (
            snapshot is not None and rows.is_open(conn, snapshot_access.open_key(snapshot.id)))
        key = access.key_of_copier(conn, data['target'])
    for wake in wakes:
        wake.send(work.ctx)
    data[_LET_IN] = clients
    if snapshot is not None:
        data[_OPENED] = {**data.get(_OPENED, {}), snapshot.id: clients}
    if not telling:
        data.pop(_ASKED, None)
        return encryption.decrypt(key)
    if time.time() - data.setdefault(_ASKED, time.time()) > conf.data_access_wait_access_rules_timeout:
        raise errors.Final(f'The backend of the share did not admit the host that copies ({clients}) within '
                           f'{conf.data_access_wait_access_rules_timeout} seconds.')
    raise errors.Again(_LOOK)


def _ask(conn: Connection, work: Work, clients: str, snapshot: values.Snapshot | None) -> list[Wake]:
    """Begin the calls of the source's backend that are still missing. After a takeover the clients are those of another
    process.
    """
    data, wakes = work.data, []
    if data.get(_LET_IN) != clients:
        shares.update_instance(conn, data['target'], copier=clients, copier_key=None)
        wakes.append(apply_rules(conn, work.ctx, work.resource_id, data['from']))
    if snapshot is not None and data.get(_OPENED, {}).get(snapshot.id) != clients:
        wakes.append(snapshot_access.begin(conn, work.ctx, snapshot.id, data['from']))
    return wakes


def admit_here(work: Work, migration: values.ShareMigration) -> str | None:
    """Have the destination's driver create the target, unless it is there, and admit this host to it, and nobody else: no other
    process of the host can write from then on. Return the key that it gave, if any.

    :raises errors.Final: the driver refuses.
    """
    driver = work.service.driver
    work.data[_EXPORTS] = [plain(location) for location in driver.create_share(migration.target)]
    copy = target(work, migration)
    rules = [values.AccessRule(f'{migration.id}-{number}', client.type, client.to, 'rw')
             for number, client in enumerate(work.service.moves.clients_of(copy))]
    results = driver.update_access(copy, rules)
    for rule in rules:
        if rule.id not in results or results[rule.id].error:
            raise errors.Final(f'The destination does not admit the host that copies, {rule.to}: '
                               f'{results[rule.id].error if rule.id in results else "it gave no answer"}')
    return next((results[rule.id].access_key for rule in rules), None)


def target(work: Work, migration: values.ShareMigration) -> values.Share:
    """Return the target with its export locations, which no row has yet."""
    return dataclasses.replace(migration.target, export_locations=tuple(
        values.ExportLocation(**location) for location in work.data.get(_EXPORTS, ())))
