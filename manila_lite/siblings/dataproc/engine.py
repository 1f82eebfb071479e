# SPDX-License-Identifier: Apache-2.0
"""The engine: works off the one queue of clusters, beside any number of others, and looks after mounts that nodes lost."""

import datetime
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.db import operations as rows
from manila_lite.siblings.dataproc import actions, converge, load, models, states, store
from manila_lite.siblings.grants import Grants
from manila_lite.worker import Worker

LOG = log.getLogger(__name__)

#: Seconds between looks for operations that ended long ago.
_FORGET = 3600.0


class Tools:
    """What the steps of the plan work with: where nodes come from, what mounts shares, and access to them."""

    def __init__(self, services: context.Services):
        self.conf = services.conf.dataproc
        self.host = services.conf.host
        self.infra = load.infra(services.conf)
        self.handlers = load.handlers(services.conf)
        self.shares = services.shares
        self.grants = Grants(services.db, models.share_grants, services.shares, service='mlite-dataproc',
                             users=store.users_of_grant)


class Engine:
    """One engine of the service."""

    def __init__(self, services: context.Services):
        self.services = services
        self.tools = Tools(services)
        self._worker = Worker(services, actions.TOPIC, '', services.conf.host, services.conf.storage_availability_zone,
                              [converge.PLAN], self.tools)
        self._worker.every(_FORGET, self.forget)
        if self.tools.conf.check_interval:
            self._worker.every(self.tools.conf.check_interval, self.check)

    def start(self) -> None:
        """Clusters are worked on."""
        self._worker.start()
        self._worker.work()

    def stop(self) -> None:
        """What was being worked on is as far as it could be brought, and nothing new is begun."""
        self._worker.stop()

    def forget(self) -> None:
        """Operations that ended ``[operations] keep_finished`` hours ago are gone."""
        kept = datetime.timedelta(hours=self.services.conf.operations.keep_finished)
        with self.services.db.writer() as conn:
            rows.purge(conn, timeutils.utcnow() - kept)

    def check(self) -> None:
        """Every cluster that is there is looked at, unless that was done of late, and so is one whose work nobody does."""
        ctx = context.admin(self.services)
        with self.services.db.reader() as conn:
            found = [row for row in store.in_status(conn, states.CLUSTER.statuses) if self._wants_a_look(conn, row)]
        for row in found:
            self._look(ctx, row)
        self.tools.grants.reconcile()
        self._sweep()

    def _sweep(self) -> None:
        try:
            self.tools.infra.sweep(self._taken)
        except errors.ManilaLiteError as bad:
            LOG.warning('What the infrastructure made could not be compared with the database; it is looked at again: %s', bad)

    def _taken(self) -> frozenset[str]:
        with self.services.db.reader() as conn:
            return store.taken(conn)

    def _wants_a_look(self, conn: Any, row: Any) -> bool:
        if rows.is_open(conn, actions.open_key(row.id)):
            return False
        if row.status in states.CLUSTER.transient:
            return True
        if any(one.finished_at and one.finished_at > self._late() for one in rows.of(conn, row.id, actions.KIND)):
            return False        # another engine did, or a user made it do so
        mounts = store.mounts(conn, (row.id,))
        # What could not be unmounted waits for its owner.
        return bool(mounts) and all(mount.state != states.MOUNT['unmount'].fail for mount in mounts)

    def _late(self) -> datetime.datetime:
        return timeutils.utcnow() - datetime.timedelta(seconds=self.tools.conf.check_interval / 2)

    def _look(self, ctx: context.RequestContext, row: Any) -> None:
        owner = context.RequestContext(project_id=row.project_id, roles=['admin', 'member', 'reader'], is_admin=True,
                                       services=self.services, overwrite=False)
        with self.services.db.writer() as conn:
            if rows.is_open(conn, actions.open_key(row.id)):
                return
            wake = actions.converge(conn, owner, row.id)
        wake.send(ctx)
