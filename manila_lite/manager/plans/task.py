# SPDX-License-Identifier: Apache-2.0
"""Shares and snapshots as drivers see them, read from their rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import errors, values
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import export_locations, qos_types, share_group_snapshots, shares, snapshots
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Work
from manila_lite.manager.plans import share_server_values
from manila_lite.workflow.verbs import share_row


def able_driver(work: Work[Any], ability: values.Ability, cannot: str) -> Any:
    """Return the backend's driver. ``cannot``: the end of the message for a backend without the ability.

    :raises errors.Final: it does not have the ability.
    """
    driver = work.service.driver
    if ability not in abilities_of(driver):
        raise errors.Final(f'The backend can {cannot}.')
    return driver


def as_share(conn: Connection, row: Any, *, size: int | None = None) -> values.Share:
    """Return a share row as drivers see it, with its type's extra specs and its export locations."""
    specs = key_values.of(conn, share_type_extra_specs, row.share_type_id) if row.share_type_id else {}
    exports = export_locations.of_instances(conn, (row.instance_id,)).get(row.instance_id, [])
    server = (
        share_server_values.load(conn, (row.share_server_id,)).get(row.share_server_id)
        if row.share_server_id
        else None
    )
    qos = qos_types.specs_of_many(conn, {row.share_type_id: specs}).get(row.share_type_id)
    return to_driver_share(row, specs, exports, size=size, server=server, qos=qos)


def as_shares(conn: Connection, rows: Sequence[Any]) -> dict[str, values.Share]:
    """Do as ``as_share`` for several share rows, by instance id, in a fixed number of statements."""
    exports = export_locations.of_instances(conn, [row.instance_id for row in rows])
    specs = key_values.of_many(
        conn, share_type_extra_specs, {row.share_type_id for row in rows if row.share_type_id}
    )
    qos = qos_types.specs_of_many(conn, specs)
    servers = share_server_values.load(conn, {row.share_server_id for row in rows if row.share_server_id})
    return {
        row.instance_id: to_driver_share(
            row,
            specs.get(row.share_type_id, {}),
            exports.get(row.instance_id, []),
            server=servers.get(row.share_server_id),
            qos=qos.get(row.share_type_id),
        )
        for row in rows
    }


def prepare_shares(conn: Connection, works: Sequence[Work[Any]]) -> None:
    """Give each operation its share as drivers see it; none if it is gone."""
    _give(conn, works, shares.list_by_ids(conn, [work.resource_id for work in works]))


def prepare_changes(conn: Connection, works: Sequence[Work[Any]]) -> None:
    """Do as ``prepare_shares``, but for shares without replicas: these would have to follow, each share's on its own."""
    rows = shares.list_by_ids(conn, [work.resource_id for work in works])
    _give(conn, works, {key: row for key, row in rows.items() if not row.replication_type})


def _give(conn: Connection, works: Sequence[Work[Any]], rows: Mapping[str, Any]) -> None:
    """Set ``Work.loaded`` to the share, if its row is among these."""
    loaded = as_shares(conn, list(rows.values()))
    for work in works:
        row = rows.get(work.resource_id)
        work.loaded = None if row is None else loaded[row.instance_id]


def to_driver_share(
    row: Any,
    specs: dict[str, str],
    exports: Any,
    *,
    size: int | None = None,
    server: values.ShareServer | None = None,
    qos: Mapping[str, str] | None = None,
) -> values.Share:
    """Return a share row, its specs, export rows, share server and QoS specs as one value."""
    return values.Share(
        id=row.instance_id,
        share_id=row.id,
        project_id=row.project_id,
        size=size or row.size,
        proto=row.share_proto,
        pool=(row.host or '').partition('#')[2],
        name=row.name,
        snapshot_id=row.snapshot_id,
        mount_point_name=row.mount_point_name,
        extra_specs=specs,
        server=server,
        qos=qos or {},
        share_network_id=row.share_network_id,
        encryption_key_ref=row.encryption_key_ref,
        export_locations=tuple(
            values.ExportLocation(
                export.path,
                export.preferred,
                export.is_admin_only,
                {values.MOUNT_OPTIONS: export.mount_options} if export.mount_options else {},
            )
            for export in exports
        ),
    )


def load_share(work: Work[Any]) -> values.Share:
    """Return the operation's share as drivers see it."""
    if work.loaded is not None:
        loaded: values.Share = work.loaded  # see ``prepare_shares``
        return loaded
    with work.ctx.db.reader() as conn:
        return as_share(conn, share_row(conn, work))


def load_snapshot(work: Work[Any], snapshot_id: str, *, size: int | None = None) -> values.Snapshot:
    """Return a snapshot as drivers see it.

    :raises errors.Final: it is gone.
    """
    with work.ctx.db.reader() as conn:
        rows = snapshots.with_share(conn, snapshot_id)
        if rows is None:
            raise errors.Final(f'Snapshot {snapshot_id} is gone.')
        row, share = rows
        return values.Snapshot(
            id=row.id,
            share=as_share(conn, share, size=size),
            size=row.size,
            provider_location=row.provider_location,
        )


def as_snapshots(conn: Connection, rows: Sequence[tuple[Any, Any]]) -> list[values.Snapshot]:
    """Return snapshots, or members of a group snapshot, each with its share (rows), as drivers see them, in a fixed
    number of statements.
    """
    loaded = as_shares(conn, list({share.id: share for _, share in rows}.values()))
    return [
        values.Snapshot(
            id=row.id, share=loaded[share.instance_id], size=row.size, provider_location=row.provider_location
        )
        for row, share in rows
    ]


def load_member(work: Work[Any], member_id: str) -> values.Snapshot:
    """Return the snapshot of one share of a group snapshot, as drivers see it.

    :raises errors.Final: it is gone.
    """
    with work.ctx.db.reader() as conn:
        rows = share_group_snapshots.with_share(conn, member_id)
        if rows is None:
            raise errors.Final(f'Share group snapshot member {member_id} is gone.')
        return as_snapshots(conn, [rows])[0]
