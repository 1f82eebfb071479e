# SPDX-License-Identifier: Apache-2.0
"""Deletions of what migrations leave at a backend: everything that its driver needs is here, since rows may have changed."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite.operation_data.base import ALWAYS, OperationData
from manila_lite.values import Share, ShareServer, Snapshot

#: The fields of a share that are stored.
_OF_SHARE = ('id', 'share_id', 'project_id', 'size', 'proto', 'pool')


def _load_share(stored: Mapping[str, Any]) -> Share:
    return Share(**{name: stored[name] for name in _OF_SHARE})


def _dump_share(share: Share) -> dict[str, Any]:
    return {name: getattr(share, name) for name in _OF_SHARE}


def _load_shares(stored: Iterable[Mapping[str, Any]]) -> list[Share]:
    return [_load_share(share) for share in stored]


def _dump_shares(shares: Iterable[Share]) -> list[dict[str, Any]]:
    return [_dump_share(share) for share in shares]


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


def _load_snapshots(stored: Iterable[Mapping[str, Any]]) -> list[LeftSnapshot]:
    return [
        LeftSnapshot(one['id'], one['size'], one['provider_location'], one.get('share', '')) for one in stored
    ]


def _dump_snapshots(snapshots: Iterable[LeftSnapshot]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in dataclasses.asdict(one).items() if name != 'share' or value}
        for one in snapshots
    ]


@dataclasses.dataclass(kw_only=True)
class Left(OperationData):
    """``former_export_of``: the share, or the target, whose migration counts as a success once this is done."""

    snapshots: list[LeftSnapshot] = dataclasses.field(
        default_factory=list, metadata=ALWAYS | {'load': _load_snapshots, 'dump': _dump_snapshots}
    )
    former_export_of: str | None = None


@dataclasses.dataclass(kw_only=True)
class ReleaseShare(Left):
    """``share_migration.RELEASE``: the second instance of a share, with the id of its share server."""

    instance: str
    server: str | None
    share: Share = dataclasses.field(metadata={'load': _load_share, 'dump': _dump_share})


@dataclasses.dataclass(kw_only=True)
class ReleaseServer(Left):
    """``share_server_migration.RELEASE``: a share server that has moved, with these shares."""

    shares: list[Share] = dataclasses.field(
        default_factory=list, metadata=ALWAYS | {'load': _load_shares, 'dump': _dump_shares}
    )


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
