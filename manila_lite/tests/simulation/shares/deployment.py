# SPDX-License-Identifier: Apache-2.0
"""A database with all tables, which has only a share type at the begin of a history."""

import contextlib
import sqlite3
import typing

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.queries import share_types
from manila_lite.scheduler import filters, weighers
from manila_lite.tests import schemas
from manila_lite.tests.simulation import deployment, rows

TYPE = 'simple'
#: Tables that are kept between histories.
_KEPT = ('share_types', 'share_type_extra_specs')

_SHARES = """
SELECT i.id, s.id, s.project_id, s.size, s.target_size, i.status, i.host
FROM share_instances i JOIN shares s ON s.id = i.share_id ORDER BY s.rowid, i.rowid"""
_POOLS = 'SELECT host, total_gb, free_gb, claimed_gb, provisioned_gb, allocated_gb, generation FROM pools ORDER BY host'
_LEASES = "SELECT host, lease_owner, lease_expires_at FROM services WHERE binary = 'manila-share'"


class Share(typing.NamedTuple):
    """A share's row with its instance: its ``id`` is the instance's, as drivers know it."""

    id: str
    share_id: str
    project: str
    size: int
    target: int
    status: str
    host: str

    @property
    def comes_to(self):
        """Return the GiB that quota counts."""
        return max(self.size, self.target or 0)


class Pool(typing.NamedTuple):
    """A pool's row."""

    host: str
    total: float
    free: float
    claimed: float
    provisioned: float
    allocated: float
    generation: int


class Lease(typing.NamedTuple):
    """The lease of a backend, in the row of its service."""

    host: str
    owner: str
    expires_at: str


class Table(rows.Table):
    """Access to operations, shares, pools and leases of backends."""

    def __init__(self, path):
        super().__init__(path)
        # Without the wire, for queries that only the product's code can do.
        self.engine = sa.create_engine(
            f'sqlite:///{path}', connect_args={'check_same_thread': False}, poolclass=sa.pool.StaticPool
        )

    def shares(self):
        """Return the shares by the ids of their instances, the oldest first."""
        return {row[0]: Share(*row) for row in self._conn.execute(_SHARES)}

    def pools(self):
        """Return the pools by their host strings."""
        return {row[0]: Pool(*row) for row in self._conn.execute(_POOLS)}

    def leases(self):
        """Return the leases of backends by their hosts."""
        return {row[0]: Lease(*row) for row in self._conn.execute(_LEASES)}

    def clear(self):
        """Delete all rows but the share type."""
        self._conn.execute('BEGIN')
        for table in reversed(models.metadata.sorted_tables):
            if table.name not in _KEPT:
                with contextlib.suppress(sqlite3.OperationalError):
                    self._conn.execute(f'DELETE FROM {table.name}')
        self._conn.execute('COMMIT')

    def close(self):
        super().close()
        self.engine.dispose()


class SharesDeployment(deployment.Deployment):
    """The deployment that histories of shares run in."""

    more = f"""
reserved_workers = 0
[DEFAULT]
default_share_type = {TYPE}
enabled_share_protocols = NFS
[scheduler]
first_report_wait = 5
restart_wait = 5
"""
    table_class = Table

    def _setUp(self):
        super()._setUp()
        conf = self.services.conf.scheduler
        self.services.conf.set_override('workers', 4, 'operations')
        self.filters, self.weighers = filters.load(conf.filters), weighers.load(conf.weighers)

    def _make_tables(self, db):
        schemas.make_tables(db.engine, models.metadata)
        with db.writer() as conn:
            share_types.create(conn, TYPE, {'driver_handles_share_servers': 'False'})
