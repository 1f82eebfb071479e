# SPDX-License-Identifier: Apache-2.0
"""Limits of the built-in server: numbers of connections, and times that it waits for clients."""

import dataclasses
import logging
import resource
from typing import Any

LOG = logging.getLogger(__name__)

#: Fraction of the process's descriptors for connections; the rest is for databases, the bus and files.
_SHARE = 0.75


@dataclasses.dataclass(frozen=True)
class Limits:
    """Numbers of connections, times in seconds, and bytes that all connections together hold.

    ``per_address``: 0 for no limit.
    """

    connections: int = 1000
    per_address: int = 0
    idle: float = 30.0
    header: float = 10.0
    body: float = 30.0
    answer: float = 60.0
    memory: int = 64 << 20

    def fitting(self) -> 'Limits':
        """Return the limits with no more connections than there are descriptors for."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = self.connections if soft == resource.RLIM_INFINITY else int(soft * _SHARE)
        if most >= self.connections:
            return self
        LOG.warning(
            'Only %s of %s connections are possible, with %s file descriptors: see LimitNOFILE of the unit, or '
            'ulimit -n.',
            most,
            self.connections,
            soft,
        )
        return dataclasses.replace(self, connections=most)


DEFAULTS = Limits()


def read_limits(group: Any) -> Limits:
    """Return the limits that the options of a group set (see ``conf.api.CONNECTIONS``)."""
    return Limits(
        group.max_connections,
        group.max_connections_per_address,
        group.idle_timeout,
        group.header_timeout,
        group.body_timeout,
        group.answer_timeout,
    )
