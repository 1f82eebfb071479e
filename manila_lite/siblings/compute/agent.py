# SPDX-License-Identifier: Apache-2.0
"""The agent of one compute host: its driver, its queue, its reports."""

import datetime
from typing import Any

from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.db import migrate
from manila_lite.db import operations as work
from manila_lite.siblings.compute import image_plans, load, server_plans, share_plans, store
from manila_lite.siblings.compute.actions import TOPIC
from manila_lite.siblings.compute.host import Host
from manila_lite.siblings.compute.reconcile import Reconciler
from manila_lite.worker import Worker

PLANS = [*server_plans.PLANS, *share_plans.PLANS, *image_plans.PLANS]

#: Seconds between looks for what is too old to be kept.
_PURGE_EVERY = 3600.0


def check(conf: cfg.ConfigOpts) -> None:
    """The driver of this host can be made as configured.

    :raises errors.BadConfig: it cannot.
    """
    load.make(conf)


class Agent:
    """Everything that happens on one compute host. :raises errors.BadConfig: it cannot work as configured."""

    def __init__(self, services: Any):
        self.services = services
        self.host = Host(services, load.make(services.conf))
        conf = services.conf
        self.worker = Worker(services, TOPIC, self.host.name, self.host.name, conf.storage_availability_zone, PLANS, self.host)
        self._reconciler = Reconciler(self.host)
        self.worker.every(conf.report_interval, self.report)
        self.worker.every(conf.compute.reconcile_interval, self.reconcile)
        self.worker.every(_PURGE_EVERY, self._purge)

    def start(self) -> None:
        """Servers are built, started and stopped, and what was under way goes on.

        :raises errors.BadConfig: the schema is another release's, or the host lacks something.
        """
        if migrate.current(self.services.db) != migrate.head(self.services.db):
            raise errors.BadConfig('[database] connection: has not the schema of this release; start mlite-compute-api first')
        self.host.driver.start()
        self.report()
        self.worker.start()
        self.worker.work()

    def stop(self) -> None:
        """What was being worked on is done; guests stay as they are."""
        self.worker.stop()
        self.host.driver.stop()

    def report(self) -> None:
        """The database has what this host can do."""
        can = self.host.driver.capabilities()
        with self.services.db.writer() as conn:
            store.report(conn, self.host.name, virtiofs=can.virtiofs, shared_memory=can.shared_memory,
                         protocols=sorted(can.protocols), networks=sorted(can.networks), images=sorted(can.images),
                         address=self.host.address)

    def reconcile(self) -> None:
        """The host is as the database says, or soon will be."""
        self._reconciler.run()

    def _purge(self) -> None:
        before = timeutils.utcnow() - datetime.timedelta(hours=self.services.conf.operations.keep_finished)
        with self.services.db.writer() as conn:
            work.purge(conn, before)
            store.forget(conn, before)
