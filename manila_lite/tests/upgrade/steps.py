# SPDX-License-Identifier: Apache-2.0
"""The steps of a rolling upgrade, as doc/source/admin/upgrade.rst has them, and those of the way back."""

from collections.abc import Iterator

from manila_lite.rpc import endpoint
from manila_lite.tests.upgrade.cluster import SERVICES, Cluster


def upgrade(cluster: Cluster) -> Iterator[str]:
    """Upgrade the cluster; yield each step once it is done."""
    cluster.pin()
    cluster.manage('db', 'sync')
    yield 'schema upgraded'
    for service in SERVICES:
        cluster.replace(service, old=False)
        yield f'{service} upgraded'
    cluster.configure()
    cluster.reload()
    yield 'wake-ups no longer pinned'


def back(cluster: Cluster) -> Iterator[str]:
    """Take the services back to the release before, the last upgraded first; yield each step once it is done."""
    if cluster.before.wake_ups != endpoint.VERSION:
        cluster.pin()
        cluster.reload()
        yield 'wake-ups pinned'
    for service in reversed(SERVICES):
        cluster.replace(service, old=True)
        yield f'{service} taken back'
