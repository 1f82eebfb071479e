# SPDX-License-Identifier: Apache-2.0
"""The ability to keep replicas: copies of a share at other backends that can be promoted. Source: Manila 2.11."""

import abc
from typing import ClassVar

from manila_lite import values


class Replicates(abc.ABC):
    """Replication: clients write to one active replica; the others are at other backends of the same replication
    domain.

    Every call goes to the driver of a replica that is not active. It is idempotent by that replica's id, and may be
    repeated after a crash. The active replica serves as before, even if a call here fails, until another one is
    promoted. Its backend may be dead. ``update_access`` is for replicas too, where clients mount them: all rules are
    read-only then.
    """

    #: Replication types of the backend, as its pools report them in ``replication_type``: readable, dr.
    REPLICATION_TYPES: ClassVar[frozenset[str]]

    @abc.abstractmethod
    def create_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Create a replica of the size of the active one. Its data may come with later updates.

        :raises errors.Final: the replica cannot be on this backend.
        """

    @abc.abstractmethod
    def update_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Bring the replica to the present data, size and snapshots of the active one; delete other snapshots.

        If clients mount the replica, its rules are in force, read-only; no one else gets access. A replica that was
        active until now is treated as any other: data written to it since is dropped and, once the active one was
        reached, so are its own snapshots.

        If the active replica cannot be reached, this one keeps its data and is out of sync.

        :raises errors.Final: the replica is broken.
        """

    @abc.abstractmethod
    def promote_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Serve the replica to clients with its rules, after writes to the previously active one were stopped.

        If the active one can be reached, no acknowledged write is lost. If not, the replica keeps the data that it has.

        :raises errors.Final: the replica cannot be promoted; the active one can be ensured and serves as before.
        """

    @abc.abstractmethod
    def delete_replica(self, replica: values.Replica) -> None:
        """Delete the replica and all snapshots of it from this backend. A missing replica counts as success."""
