# SPDX-License-Identifier: Apache-2.0
"""Access rules of shares."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from manila_lite import values
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer
from manila_lite.drivers.linux.shares.share_service import ShareService
from manila_lite.drivers.linux.shares.storage import missing
from manila_lite.host.ids import vet_id


class ShareAccess(ShareService):
    """The access rules of one backend's shares."""

    def update(
        self, share: values.Share, rules: Sequence[values.AccessRule]
    ) -> Mapping[str, values.RuleResult]:
        """Put exactly these rules in force, also for open sessions. Returns a result for every rule."""
        vet_id(share.id)
        with self._storage.exclusive(share.id):
            path = self._storage.share_path(share.id)
            if path is None and rules:
                raise missing(share.id)
            if path is None:
                return {}
            if rules:
                self._qos.limit(share)
            return serve(
                self._exports.protocol_server_of(share), share.id, path, rules, share.mount_point_name
            )


def serve(
    protocol_server: ProtocolServer,
    resource_id: str,
    path: Path,
    rules: Sequence[values.AccessRule],
    mounted_as: str | None = None,
) -> dict[str, values.RuleResult]:
    """Export the path under this id to exactly the clients of these rules. Returns a result for every rule."""
    blocks, results = protocol_server.blocks(rules)
    refused = protocol_server.serve(resource_id, path, [block.text for block in blocks], mounted_as)
    return results | {
        blocks[position].rule_id: values.RuleResult(error=why) for position, why in refused.items()
    }
