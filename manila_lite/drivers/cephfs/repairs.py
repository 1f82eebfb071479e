# SPDX-License-Identifier: Apache-2.0
"""Repairs of a backend's cluster that an administrator asks for. No service needs to run."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.parts import Parts
from manila_lite.drivers.interface import Backend


def flatten_trash(conf: CephfsOptions) -> int:
    """Move directories up in the trash that are too deep for managers. Return how many there were.

    :raises Away: monitors or metadata servers do not answer.
    """
    with _parts(conf) as parts:
        return parts.trees.flatten_trash()


def strange_objects(conf: CephfsOptions) -> list[str]:
    """Count objects in the RADOS namespaces of shares. Return what is wrong, in words.

    :raises Away: monitors or metadata servers do not answer.
    """
    with _parts(conf) as parts:
        parts.objects.count()
        return parts.objects.problems()


@contextlib.contextmanager
def _parts(conf: CephfsOptions) -> Iterator[Parts]:
    parts = Parts(Backend('', '', conf, Path()))
    try:
        yield parts
    finally:
        parts.cluster.close()
