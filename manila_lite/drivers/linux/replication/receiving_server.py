# SPDX-License-Identifier: Apache-2.0
"""Checks and exports of a share server that receives shares, wherever they come from."""

import dataclasses
from collections.abc import Collection

from manila_lite import errors, values
from manila_lite.drivers.linux.protocols import active_directory
from manila_lite.drivers.linux.replication.migrations import must_be_ids
from manila_lite.drivers.linux.servers.server_setup import ServerSetup
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.snapshots import provider_location


def vet(migration: values.ServerMigration, protocols: Collection[str]) -> None:
    """Check that a backend with these protocols can serve what moves.

    :raises errors.Final: it cannot; with the reason.
    """
    services = (*migration.source.security_services, *migration.target.security_services)
    if 'CIFS' in {share.proto for share in migration.shares} and any(
        service.type == active_directory.TYPE for service in services
    ):
        raise errors.Final(
            'This backend does not migrate share servers with CIFS shares and a security service of type active_directory: '
            'migrate the shares.'
        )
    if unserved := sorted({share.proto for share in migration.shares} - set(protocols)):
        raise errors.Final(f'This backend does not serve {", ".join(unserved)}.')
    shares, snapshots = (share.id for share in migration.shares), (one.id for one in migration.snapshots)
    must_be_ids(migration.id, migration.source.id, *shares, *snapshots)


def serve(
    migration: values.ServerMigration, access: ShareAccess, setup: ServerSetup
) -> values.MigratedServer:
    """Export the shares, whose data is in its place, from the target with their rules. It gets its addresses last."""
    for share in migration.shares:
        here = dataclasses.replace(share, pool=migration.pool, server=migration.target)
        access.update(here, migration.rules.get(share.id, ()))
    return values.MigratedServer(
        setup.set_up(migration.target),
        {share.id: tuple(setup.locations(share, migration.target)) for share in migration.shares},
        {snapshot.id: provider_location(snapshot.id) for snapshot in migration.snapshots},
    )
