# SPDX-License-Identifier: Apache-2.0
"""The engine: works on the queue of clusters, beside any number of other engines, and checks for lost mounts of nodes."""

import datetime
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as rows
from manila_lite.engine.worker import Worker
from manila_lite.siblings.dataproc import actions, converge, load, states
from manila_lite.siblings.dataproc.db import models, store
from manila_lite.siblings.grants import Grants
from manila_lite.siblings.shares import of_process

LOG = log.getLogger(__name__)

#: Seconds between deletions of old operations.
_FORGET = 3600.0


class Tools:
    """The resources that the steps of the plan use: the infrastructure, the handlers of protocols, and access rules."""

    def __init__(self, services: context.Services):
        self.conf = services.conf.dataproc
        self.host = services.conf.host
        self.infra = load.infra(services.conf)
        self.handlers = load.handlers(services.conf)
        self.shares = of_process(services)
        self.grants = Grants(
            services.db,
            models.share_grants,
            self.shares,
            service='mlite-dataproc',
            users=store.levels_of_grant,
        )


class Engine:
    """One engine of the service."""

    def __init__(self, services: context.Services):
        self.services = services
        self.tools = Tools(services)
        self._worker = Worker(
            services,
            actions.TOPIC,
            '',
            services.conf.host,
            services.conf.storage_availability_zone,
            [converge.PLAN],
            self.tools,
        )
        self._worker.every(_FORGET, self.purge)
        if self.tools.conf.check_interval:
            self._worker.every(self.tools.conf.check_interval, self.check)

    def start(self) -> None:
        """Begin to work on clusters."""
        self._worker.start()
        self._worker.work()

    def stop(self) -> None:
        """Begin nothing new, and bring the work under way as far as possible."""
        self._worker.stop()

    def purge(self) -> None:
        """Delete operations that ended ``[operations] finished_retention_hours`` hours ago."""
        kept = datetime.timedelta(hours=self.services.conf.operations.finished_retention_hours)
        with self.services.db.writer() as conn:
            rows.delete_ended(conn, timeutils.utcnow() - kept)

    def check(self) -> None:
        """Begin an operation for each unfinished cluster without an open one, and for each cluster with mounts and no
        recent one.

        Also reconciles grants, and removes nodes that no cluster needs.
        """
        with self.services.db.reader() as conn:
            clusters = [
                row
                for row in store.clusters_in_status(conn, states.CLUSTER.statuses)
                if self._needs_check(conn, row)
            ]
        for row in clusters:
            self._begin_converge(row)
        self.tools.grants.reconcile()
        self._sweep()

    def _sweep(self) -> None:
        try:
            self.tools.infra.sweep(self._taken)
        except errors.ManilaLiteError as bad:
            LOG.warning(
                'The nodes of the infrastructure could not be compared with the database; trying again: %s',
                bad,
            )

    def _taken(self) -> frozenset[str]:
        with self.services.db.reader() as conn:
            return store.taken_references(conn)

    def _needs_check(self, conn: Connection, row: Any) -> bool:
        if rows.is_open(conn, actions.unique_key(row.id)):
            return False
        if row.status in states.CLUSTER.transient:
            return True
        if any(
            one.finished_at and one.finished_at > self._late()
            for one in rows.list_of_resource(conn, row.id, actions.KIND)
        ):
            return False  # another engine looked at it, or a user caused an operation
        return bool(store.mounts(conn, (row.id,)))

    def _late(self) -> datetime.datetime:
        return timeutils.utcnow() - datetime.timedelta(seconds=self.tools.conf.check_interval / 2)

    def _begin_converge(self, row: Any) -> None:
        owner = context.RequestContext(
            project_id=row.project_id,
            roles=['admin', 'member', 'reader'],
            is_admin=True,
            services=self.services,
            overwrite=False,
        )
        with self.services.db.writer() as conn:
            if not rows.is_open(conn, actions.unique_key(row.id)):
                actions.converge(conn, owner, row.id)
