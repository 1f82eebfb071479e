# SPDX-License-Identifier: Apache-2.0
"""Backend leases: of several processes that are configured for one backend, the holder of its lease works.

A lease is taken by a conditional UPDATE of the service's row and a look at the row count, as operations are claimed.
"""

import datetime

import sqlalchemy as sa

from manila_lite.db.core import host_time, row_locks
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import services


def _of(host: str, binary: str) -> sa.ColumnElement[bool]:
    return sa.and_(services.c.host == host, services.c.binary == binary)


def _until(conn: Connection, seconds: float) -> datetime.datetime:
    return host_time.now(conn) + datetime.timedelta(seconds=seconds)


def get_holder(conn: Connection, host: str, binary: str) -> tuple[str | None, float]:
    """Return the holder of the lease and the seconds that it still lasts. An expired lease has its last holder."""
    row = conn.execute(
        sa.select(services.c.lease_owner, services.c.lease_expires_at).where(_of(host, binary))
    ).first()
    if row is None or row.lease_owner is None:
        return None, 0.0
    return row.lease_owner, (row.lease_expires_at - host_time.now(conn)).total_seconds()


def renew(conn: Connection, host: str, binary: str, owner: str, seconds: float) -> bool:
    """Extend the owner's lease to ``seconds`` from now. Say whether it was still the owner's."""
    return bool(
        conn.execute(
            services.update()
            .where(_of(host, binary), services.c.lease_owner == owner)
            .values(lease_expires_at=_until(conn, seconds))
        ).rowcount
    )


def take(
    conn: Connection, host: str, binary: str, owner: str, seconds: float, dead: str | None = None
) -> bool:
    """Take the lease for ``seconds``. Say whether it was free: given up, expired, or held by ``dead``."""
    free = sa.or_(services.c.lease_owner.is_(None), services.c.lease_expires_at < host_time.now(conn))
    if dead is not None:
        free = sa.or_(free, services.c.lease_owner == dead)
    return bool(
        conn.execute(
            services.update()
            .where(_of(host, binary), free)
            .values(lease_owner=owner, lease_expires_at=_until(conn, seconds))
        ).rowcount
    )


def lock_if_owned(conn: Connection, host: str, binary: str, owner: str) -> bool:
    """Say whether the lease is the owner's, expired or not. If so, nobody can take it until the transaction ends."""
    row = sa.select(services.c.lease_owner).where(_of(host, binary)).with_for_update()
    row_locks.certify(conn, services, _of(host, binary))
    return conn.execute(row).scalar() == owner


def release(conn: Connection, host: str, binary: str, owner: str) -> None:
    """Free the lease if the owner holds it."""
    conn.execute(
        services.update()
        .where(_of(host, binary), services.c.lease_owner == owner)
        .values(lease_owner=None, lease_expires_at=None)
    )
