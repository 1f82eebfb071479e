# SPDX-License-Identifier: Apache-2.0
"""The protocol that the share is to speak."""

from manila_lite import extra_specs
from manila_lite.scheduler.interface import Filter, PoolState, Request


class Protocol(Filter):
    """The pool serves the protocol of the share; several are reported as a list, or joined as in ``NFS_CIFS``."""

    name = 'ProtocolFilter'
    detail = 'FILTER_CAPABILITIES'
    static = True

    def applies(self, request: Request) -> bool:
        """Not if the request is for no share yet."""
        return bool(request.proto)

    def check(self, request: Request, pool: PoolState) -> str | None:
        """Return which protocols the pool serves instead."""
        held = pool.reported.get('storage_protocol')
        served = {name.upper() for value in extra_specs.elements(held) for name in str(value or '').split('_')}
        if request.proto.upper() in served:
            return None
        return f'the request asks for protocol {request.proto}, the pool reports storage_protocol {held!r}'
