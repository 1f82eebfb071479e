# SPDX-License-Identifier: Apache-2.0
"""The life of a backend: it waits for its cluster, and lets go of it."""

from typing import Any

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.protocols.protocol import Protocol
from manila_lite.drivers.cephfs.volumes.objects import Objects
from manila_lite.drivers.cephfs.volumes.pools import Pools
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.drivers.cephfs.volumes.trees import Trees


class Lifecycle:
    """The life of one backend."""

    def __init__(
        self,
        cluster: Cluster,
        subvolumes: Subvolumes,
        trees: Trees,
        objects: Objects,
        pools: Pools,
        protocol: Protocol,
    ):
        self._cluster = cluster
        self._subvolumes = subvolumes
        self._trees = trees
        self._objects = objects
        self._pools = pools
        self._protocol = protocol

    def set_up(self) -> None:
        """Wait until the cluster can be used, and make the protocol ready.

        :raises errors.Final: the cluster refuses; with its message. :raises Away: it does not answer.
        """
        try:
            self._trees.keep_up()  # first of all: managers may die of what is in the trash
            self._subvolumes.make_group()
            # The volumes module answers this only when a metadata server is active.
            self._subvolumes.names()
            self._pools.await_capacities()
            self._protocol.set_up()
        except Refused as refused:
            raise errors.Final(str(refused)) from refused

    def keep_up(self) -> None:
        """Look after the trash, objects beside CephFS, and what the protocol has. Called once a minute."""
        self._trees.keep_up()
        self._objects.keep_up()
        self._protocol.keep_up()

    def findings(self) -> dict[str, Any]:
        """Return what was found out about the whole backend, as capabilities: what an administrator has to do, in words, and
        how many objects are in RADOS namespaces of shares beside CephFS.
        """
        problems = [*filter(None, (self._trees.problem,)), *self._objects.problems()]
        strange = self._objects.strange
        return {
            **({'problems': problems} if problems else {}),
            **({} if strange is None else {'strange_objects': sum(strange.values())}),
        }

    def shut_down(self) -> None:
        """Close connections. Shares stay served."""
        self._protocol.shut_down()
        self._objects.close()
        self._cluster.close()
