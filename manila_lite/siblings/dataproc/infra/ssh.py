# SPDX-License-Identifier: Apache-2.0
"""Nodes that are reached over SSH, for any infrastructure."""

import contextlib

from manila_lite import errors
from manila_lite.siblings.dataproc import remote
from manila_lite.siblings.dataproc.interface import Infra, Node, NodeAway, Remote

_PAUSE = 3.0


class SshInfra(Infra):
    """The common part of infrastructures whose nodes are reached over SSH."""

    def connect(self, node: Node) -> contextlib.AbstractContextManager[Remote]:
        return remote.connect(node, self.conf)

    def answering(self, node: Node) -> Node:
        """Return the node when commands run on it as root. :raises errors.Again: it does not answer yet."""
        try:
            with self.connect(node) as session:
                done = session.run(['true'])
        except NodeAway as bad:
            raise errors.Again(_PAUSE, str(bad)) from bad
        if done.status:
            raise errors.Final(
                f'{node.name}: {node.user} cannot run commands as root: '
                f'{done.err.decode(errors="replace").strip()}'
            )
        return node
