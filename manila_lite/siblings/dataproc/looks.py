# SPDX-License-Identifier: Apache-2.0
"""Looks at what is mounted: mounts that a node lost or that do not answer, and access rules that are gone, are to be made
again.
"""

import functools
from typing import Any

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.dataproc import states, steps
from manila_lite.siblings.dataproc.db import store
from manila_lite.siblings.dataproc.interface import Mount, NodeAway
from manila_lite.siblings.grants import is_in_force
from manila_lite.siblings.work import Work

_MOUNTED = states.MOUNT['mount'].ok


def find_lost(work: Work) -> None:
    """Check the mounts of all nodes, and their access rules; what is lost is to be mounted again."""
    steps.for_each(work, steps.mounts_by_node(work, _MOUNTED), lambda one: _on_node(work, *one))
    by_share: dict[str, list[Any]] = {}
    for _, mounts in steps.mounts_by_node(work, _MOUNTED):
        for mount in mounts:
            by_share.setdefault(mount.share_id, []).append(mount)
    steps.for_each(work, by_share.items(), lambda one: _of_share(work, *one))


def _on_node(work: Work, node: Any, mounts: list[Any]) -> None:
    lost = list(mounts)
    try:
        with work.service.infra.connect(steps.node_of(node)) as remote:
            for mount in mounts:
                handler = work.service.handlers[mount.protocol]
                if handler.is_mounted(
                    remote, Mount(mount.share_id, mount.export or '', mount.path, mount.level)
                ):
                    lost.remove(mount)
    except (NodeAway, errors.Again, errors.Final):
        pass  # the step that mounts reports the error
    for mount in lost:
        steps.write(work, functools.partial(mount_again, mount=mount))


def _of_share(work: Work, share_id: str, mounts: list[Any]) -> None:
    try:
        rules = {rule.id: rule for rule in work.service.shares.rules(share_id)}
    except errors.NotFound:
        rules = {}  # the step that makes rules reports that the share is gone
    except errors.ManilaLiteError:
        return  # nothing is known; the next look asks again
    with work.ctx.db.reader() as conn:
        known = store.rules_of_grants(conn, [mount.grant_id for mount in mounts])
    for mount in mounts:
        if not is_in_force(rules.get(known.get(mount.grant_id) or ''), mount.level):
            steps.write(work, functools.partial(mount_again, mount=mount))


def mount_again(conn: Connection, mount: Any) -> None:
    """Have the steps of the plan mount it once more, beginning with its access rule."""
    transitions.begin(conn, states.MOUNT, 'again', mount.id, attempts=0, fault=None)
