# SPDX-License-Identifier: Apache-2.0
"""The calls for replicas."""

from manila_lite import values
from manila_lite.drivers.interface import Replicates
from manila_lite.drivers.linux.abilities.base import ComposedDriver
from manila_lite.drivers.linux.replication.share_replicas import TYPES


class LinuxReplication(ComposedDriver, Replicates):
    """The calls of ``Replicates``."""

    REPLICATION_TYPES = TYPES

    def create_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Create an empty share, which the first update fills."""
        return self.services.replicas.create(replica)

    def update_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Bring a round of the copy, and offer it to clients."""
        return self.services.replicas.update(replica)

    def promote_replica(self, replica: values.Replica) -> values.ReplicaResult:
        """Freeze the active replica, and bring its last data. If it cannot be reached, promote the data that is here."""
        return self.services.replicas.promote(replica)

    def delete_replica(self, replica: values.Replica) -> None:
        """Delete the share like any other, with its snapshots and the data of its copy."""
        self.services.replicas.delete(replica)
