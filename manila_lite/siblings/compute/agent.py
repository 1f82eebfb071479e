# SPDX-License-Identifier: Apache-2.0
"""The agent of one compute host: its driver, its queue, its reports."""

import datetime
from typing import Any

from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite import entry_points, errors
from manila_lite.db.maintenance import schema_revisions
from manila_lite.db.queries import operations as work
from manila_lite.engine.worker import Worker
from manila_lite.siblings.compute import image_plans, server_plans, share_plans
from manila_lite.siblings.compute.actions import TOPIC
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.drivers.interface import InstanceDriver
from manila_lite.siblings.compute.host import Host
from manila_lite.siblings.compute.reconcile import Reconciler

PLANS = [*server_plans.PLANS, *share_plans.PLANS, *image_plans.PLANS]

#: Seconds between deletions of old operations and events.
_PURGE_EVERY = 3600.0


def make_driver(conf: cfg.ConfigOpts) -> InstanceDriver:
    """Return the driver of this host, without touching the host.

    :raises errors.BadConfig: there is no such driver, or it cannot work as configured.
    """
    name = conf.compute.driver
    cls: type[InstanceDriver] = entry_points.load(
        'manila_lite.compute.drivers', name, InstanceDriver, f'[compute] driver = {name}'
    )
    conf.register_opts(cls.OPTIONS, group=cls.GROUP)
    return cls(conf)


def check(conf: cfg.ConfigOpts) -> None:
    """Check that the driver of this host can be made as configured.

    :raises errors.BadConfig: it cannot be made.
    """
    make_driver(conf)


class Agent:
    """The agent of a host: it runs the host's operations, reports, and reconciles.

    :raises errors.BadConfig: it cannot work as configured.
    """

    def __init__(self, services: Any):
        self.services = services
        self.host = Host(services, make_driver(services.conf))
        conf = services.conf
        self.worker = Worker(
            services, TOPIC, self.host.name, self.host.name, conf.storage_availability_zone, PLANS, self.host
        )
        self._reconciler = Reconciler(self.host)
        self.worker.every(conf.report_interval, self.report)
        self.worker.every(conf.compute.reconcile_interval, self.reconcile)
        self.worker.every(_PURGE_EVERY, self._purge)

    def start(self) -> None:
        """Start the driver and the worker, which continues open operations.

        :raises errors.BadConfig: the schema is older than this release, or the host lacks something.
        """
        if schema_revisions.is_older(self.services.db):
            raise errors.BadConfig(
                '[database] connection: the schema is older than this release: start mlite-compute-api'
            )
        self.host.driver.start()
        self.report()
        self.worker.start()
        self.worker.work()

    def stop(self) -> None:
        """Finish the work under way, and stop. Guests stay as they are."""
        self.worker.stop()
        self.host.driver.stop()

    def report(self) -> None:
        """Store the capabilities of this host in the database."""
        can = self.host.driver.capabilities()
        with self.services.db.writer() as conn:
            store.save_host_report(
                conn,
                self.host.name,
                virtiofs=can.virtiofs,
                shared_memory=can.shared_memory,
                protocols=sorted(can.protocols),
                networks=sorted(can.networks),
                images=sorted(can.images),
                address=self.host.address,
            )

    def reconcile(self) -> None:
        """Compare the host with the database, and correct the differences."""
        self._reconciler.run()

    def _purge(self) -> None:
        before = timeutils.utcnow() - datetime.timedelta(
            hours=self.services.conf.operations.finished_retention_hours
        )
        with self.services.db.writer() as conn:
            work.delete_ended(conn, before)
            store.purge_events(conn, before)
