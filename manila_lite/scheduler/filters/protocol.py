# SPDX-License-Identifier: Apache-2.0
"""Filter for the protocol of the share."""

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState


class Protocol(Filter):
    """Filter that accepts pools with the share's protocol. Several are reported as a list, or joined as in ``NFS_CIFS``."""

    name = 'ProtocolFilter'
    detail = 'FILTER_CAPABILITIES'
    static = True

    def applies(self, request: PlacementRequest) -> bool:
        """Apply only if the request names a protocol; that of a group names none."""
        return bool(request.proto)

    def check(self, request: PlacementRequest, pool: PoolState) -> str | None:
        held = pool.reported.get('storage_protocol')
        served = {
            name.upper() for value in extra_specs.elements(held) for name in str(value or '').split('_')
        }
        if request.proto.upper() in served:
            return None
        return f'the request asks for protocol {request.proto}, the pool reports storage_protocol {held!r}'
