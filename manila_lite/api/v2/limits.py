# SPDX-License-Identifier: Apache-2.0
"""The call that shows a caller's limits and usage, under the names of that call."""

import dataclasses
from typing import Any

from manila_lite.actions import quotas as actions
from manila_lite.api import versions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Call, Plain
from manila_lite.api.request import Request


def show(req: Request) -> dict[str, Any]:
    """Show limits and usage."""
    with req.ctx.db.reader() as conn:
        return actions.detail(conn, req.ctx, actions.Scope(req.ctx.project_id or ''))


#: Resource, first version, name of its limit, name of its usage (the size of one share has none).
_NAMES = (
    ('shares', '2.0', 'maxTotalShares', 'totalSharesUsed'),
    ('gigabytes', '2.0', 'maxTotalShareGigabytes', 'totalShareGigabytesUsed'),
    ('snapshots', '2.0', 'maxTotalShareSnapshots', 'totalShareSnapshotsUsed'),
    ('snapshot_gigabytes', '2.0', 'maxTotalSnapshotGigabytes', 'totalSnapshotGigabytesUsed'),
    ('share_networks', '2.0', 'maxTotalShareNetworks', 'totalShareNetworksUsed'),
    ('share_replicas', '2.53', 'maxTotalShareReplicas', 'totalShareReplicasUsed'),
    ('replica_gigabytes', '2.53', 'maxTotalReplicaGigabytes', 'totalReplicaGigabytesUsed'),
    ('share_groups', '2.58', 'maxTotalShareGroups', 'totalShareGroupsUsed'),
    ('share_group_snapshots', '2.58', 'maxTotalShareGroupSnapshots', 'totalShareGroupSnapshotsUsed'),
    ('per_share_gigabytes', '2.62', 'maxTotalPerShareGigabytes', None),
    ('backups', '2.80', 'maxTotalShareBackups', 'totalShareBackupsUsed'),
    ('backup_gigabytes', '2.80', 'maxTotalBackupGigabytes', 'totalBackupGigabytesUsed'),
)


def _living(version: int) -> list[tuple[str, str, str]]:
    """Return (name, resource, part) of every number at a version."""
    return [
        (name, resource, part)
        for resource, since, limit, used in _NAMES
        if versions.minor(since) <= version
        for name, part in ((limit, 'limit'), (used, 'in_use'))
        if name
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class _Absolute(Plain):
    """The answer ``{'limits': {'rate': [], 'absolute': {...}}}``. Rate limits are not shown here."""

    def render(self, usages: dict[str, dict[str, int]], req: Any) -> dict[str, Any]:
        absolute = {name: usages[resource][part] for name, resource, part in _living(req.version)}
        return super().render({'rate': [], 'absolute': absolute}, req)

    def schema(self, version: int) -> shapes.Schema:
        absolute = shapes.document({name: self.body for name, _, _ in _living(version)})
        rates = {'type': 'array', 'maxItems': 0}
        return shapes.document({str(self.key): shapes.document({'rate': rates, 'absolute': absolute})})


CALLS = [Call('GET', '/limits', show, 'limits:index', _Absolute(shapes.INTEGER, 'limits'))]
