# SPDX-License-Identifier: Apache-2.0
"""The ability to keep replicas: copies of a share at other backends, of which one can take its place. Source: Manila 2.11."""

import abc
from typing import ClassVar

from manila_lite import kinds


class Replicates(abc.ABC):
    """A share has one active replica, which clients write to, and others at other backends of the same replication domain.

    Every call is made of the driver of the backend of a replica that is not the active one, is idempotent by that one's id, and
    may come again after a crash. The active one serves as before, whatever happens here, until another is promoted. Its own
    backend may be dead. ``update_access`` is for replicas too, where clients mount them: all rules are read-only then.
    """

    #: The ways of replicating that the backend knows, as its pools say in ``replication_type``: readable, dr.
    REPLICATION_TYPES: ClassVar[frozenset[str]]

    @abc.abstractmethod
    def create_replica(self, replica: kinds.Replica) -> kinds.ReplicaResult:
        """There is a replica, of the size of the active one; what it holds may come with later updates.

        :raises errors.Final: it cannot be here.
        """

    @abc.abstractmethod
    def update_replica(self, replica: kinds.Replica) -> kinds.ReplicaResult:
        """The replica holds what the active one holds now, with the size and the snapshots that that has, and no others; its
        rules are in force, read-only, if clients mount it, and nobody else is let in. One that was the active replica until now
        is a replica like any other: what was written to it since is given up and, once the active one was reached, so are its
        own snapshots.

        Where the active one cannot be reached the replica holds what it held, and is out of sync.

        :raises errors.Final: the replica is broken.
        """

    @abc.abstractmethod
    def promote_replica(self, replica: kinds.Replica) -> kinds.ReplicaResult:
        """The replica is served to clients with its rules, and nobody writes to the one that was active, if it can be reached:
        then no acknowledged write is lost. If it cannot, the replica holds what it held.

        :raises errors.Final: it cannot be done; the active one can be ensured and serves as before.
        """

    @abc.abstractmethod
    def delete_replica(self, replica: kinds.Replica) -> None:
        """Nothing of the replica is left here, nor of snapshots of it. One that is not there is a success."""
