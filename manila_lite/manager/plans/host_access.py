# SPDX-License-Identifier: Apache-2.0
"""Access of this host to both sides of a share that it copies.

The source admits it by an access rule of its own, which ``db/queries/access.py`` adds to those of the share, and the
destination's driver by one that no row has, since nobody else may reach the copy yet.
"""

import dataclasses

from manila_lite import encryption, errors, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Work
from manila_lite.host import clock
from manila_lite.host_copy.share_moves import ShareMoves
from manila_lite.operation_data.host_copies import HostCopy
from manila_lite.operation_data.migrations import Migrate
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.access import apply_rules

#: Seconds between looks whether the source's backend admits this host.
_LOOK = 0.2


@dataclasses.dataclass(frozen=True)
class ShareCopy:
    """The copy of one share that this host makes, for an operation that moves the share, or its share server.

    ``data`` is the part of the operation's data that is about this share. ``instance_id``: the share instance whose row names
    this host as the client that the source admits. ``project_id``: the project that is told what the copy will lack.
    """

    work: Work[Migrate]
    migration: values.ShareMigration
    data: HostCopy
    share_id: str
    instance_id: str
    project_id: str

    @property
    def id(self) -> str:
        """The id under which the copy is known on this host."""
        return self.migration.id

    @property
    def moves(self) -> ShareMoves:
        """The copies of this host."""
        moves: ShareMoves = self.work.service.moves
        return moves

    @property
    def target(self) -> values.Share:
        """The target with its export locations, which no row has yet."""
        return dataclasses.replace(self.migration.target, export_locations=tuple(self.data.exports))


def let_in(copy: ShareCopy, snapshot: values.Snapshot | None = None) -> str | None:
    """Have the source's backend admit this host, for reading, to the snapshot, too. Return the key that it gave, if any.

    :raises errors.Again: it has not done it yet.
    :raises errors.Final: it has not done it for too long, or there is no route to it.
    """
    data, work, source = copy.data, copy.work, copy.migration.source
    clients = ','.join(access.copy_client_text(one.type, one.to) for one in copy.moves.clients_of(source))
    if not clients:
        return None
    if snapshot is not None and copy.moves.has_snapshots_inside(source):
        snapshot = None
    with work.ctx.db.writer() as conn:
        access.lock(conn, copy.share_id)
        work.hold(conn)
        _ask(conn, copy, clients, snapshot)
        telling = rows.is_open(conn, access.unique_key(copy.share_id)) or (
            snapshot is not None and rows.is_open(conn, snapshot_access.unique_key(snapshot.id))
        )
        key = access.key_of_copy_client(conn, copy.instance_id)
    data.let_in = clients
    if snapshot is not None:
        data.snapshots_opened[snapshot.id] = clients
    if not telling:
        data.let_in_asked = None
        return encryption.decrypt(key)
    patience = work.ctx.conf.data_access_wait_access_rules_timeout
    now = clock.timestamp()
    data.let_in_asked = data.let_in_asked or now
    if now - data.let_in_asked > patience:
        raise errors.Final(
            f'The backend of the share did not admit the host that copies ({clients}) within {patience} '
            'seconds.'
        )
    raise errors.Again(_LOOK)


def _ask(conn: Connection, copy: ShareCopy, clients: str, snapshot: values.Snapshot | None) -> None:
    """Begin the calls of the source's backend that are still missing. After a takeover the clients are those of another
    process.
    """
    ctx, host, data = copy.work.ctx, copy.migration.source_host, copy.data
    if data.let_in != clients:
        shares.update_instance(conn, copy.instance_id, copy_client=clients, copy_client_key=None)
        apply_rules(conn, ctx, copy.share_id, host)
    if snapshot is not None and data.snapshots_opened.get(snapshot.id) != clients:
        snapshot_access.begin(conn, ctx, snapshot.id, host)


def admit_here(copy: ShareCopy) -> str | None:
    """Have the destination's driver create the target, unless it is there, and admit this host to it, and nobody else: no other
    process of the host can write from then on. Return the key that it gave, if any.

    :raises errors.Final: the driver refuses.
    """
    driver = copy.work.service.driver
    copy.data.exports = list(driver.create_share(copy.migration.target))
    target = copy.target
    rules = [
        values.AccessRule(f'{copy.id}-{number}', client.type, client.to, 'rw')
        for number, client in enumerate(copy.moves.clients_of(target))
    ]
    results = driver.update_access(target, rules)
    for rule in rules:
        if rule.id not in results or results[rule.id].error:
            raise errors.Final(
                f'The destination does not admit the host that copies, {rule.to}: '
                f'{results[rule.id].error if rule.id in results else "it gave no answer"}'
            )
    return next((results[rule.id].access_key for rule in rules), None)
