# SPDX-License-Identifier: Apache-2.0
"""Deletions of what migrations leave at a backend: everything that its driver needs is here, since rows may have changed."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from manila_lite.operation_data.base import ALWAYS, OperationData, each, record
from manila_lite.values import Share, ShareServer, Snapshot

_SHARE = record(Share, ('id', 'share_id', 'project_id', 'size', 'proto', 'pool'))


@dataclasses.dataclass(frozen=True)
class LeftSnapshot:
    """``share``: the share instance that it is of, if several are left."""

    id: str
    size: int
    provider_location: str | None
    share: str = ''

    def of(self, share: Share) -> Snapshot:
        """Return the snapshot as drivers see it."""
        return Snapshot(self.id, share, self.size, provider_location=self.provider_location)


@dataclasses.dataclass(kw_only=True)
class Left(OperationData):
    """``former_export_of``: the share, or the target, whose migration counts as a success once this is done."""

    snapshots: list[LeftSnapshot] = dataclasses.field(
        default_factory=list, metadata=ALWAYS | each(record(LeftSnapshot, sparse=True))
    )
    former_export_of: str | None = None


@dataclasses.dataclass(kw_only=True)
class ReleaseShare(Left):
    """``share_migration.RELEASE``: the second instance of a share, with the id of its share server."""

    instance: str
    server: str | None
    share: Share = dataclasses.field(metadata=_SHARE)


@dataclasses.dataclass(kw_only=True)
class ReleaseServer(Left):
    """``share_server_migration.RELEASE``: a share server that has moved, with these shares."""

    shares: list[Share] = dataclasses.field(default_factory=list, metadata=ALWAYS | each(_SHARE))


@dataclasses.dataclass(kw_only=True)
class CancelledByForce(OperationData):
    """The data about a migration that was cancelled without the backend of its target. ``source``: what stayed."""

    source: str
    source_host: str = dataclasses.field(metadata={'key': 'from'})
    options: dict[str, Any]
    by_host: bool = dataclasses.field(default=False, metadata=ALWAYS)


@dataclasses.dataclass(kw_only=True)
class ClearShare(ReleaseShare, CancelledByForce):
    """``share_migration.CLEAR``. ``source``: the share instance that stayed, in ``source_pool``."""

    source_pool: str


@dataclasses.dataclass(kw_only=True)
class ClearServer(ReleaseServer, CancelledByForce):
    """``share_server_migration.CLEAR``. ``source``: the share server that stayed. ``pools`` as in the migration."""

    pool: str
    pools: dict[str, str] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    keeps_addresses: bool
    was_idle: bool = dataclasses.field(default=False, metadata=ALWAYS)


def on(shares: Iterable[Share], server: ShareServer | None) -> dict[str, Share]:
    """Return the shares by id, on this server."""
    return {share.id: dataclasses.replace(share, server=server) for share in shares}
