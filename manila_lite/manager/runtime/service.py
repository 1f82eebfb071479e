# SPDX-License-Identifier: Apache-2.0
"""The share manager of one backend: its driver, its queue, its reports."""

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_log import log

from manila_lite import context, engine, errors, trace, values
from manila_lite.conf import backend as backend_conf
from manila_lite.db.queries import pool_reports
from manila_lite.drivers import load
from manila_lite.drivers.interface import FailsOver, MeasuresUsage, consistency_of, spreads_servers
from manila_lite.drivers.section import Section
from manila_lite.engine.environment import REAL, Environment, Thread
from manila_lite.engine.worker import Worker
from manila_lite.host import configured_files
from manila_lite.host_copy.share_moves import ShareMoves
from manila_lite.manager.plans import (
    access,
    admin_network,
    deferred_deletion,
    ensure,
    former_exports,
    host_assisted,
    manage_servers,
    manage_shares,
    migration_source,
    security_services,
    share_backups,
    share_group_snapshots,
    share_groups,
    share_migration,
    share_network_subnet_metadata,
    share_network_subnets,
    share_replica_promotion,
    share_replicas,
    share_server_migration,
    share_server_upkeep,
    share_servers,
    shares,
    snapshot_access,
    snapshots,
)
from manila_lite.manager.runtime import startup
from manila_lite.manager.runtime.backend_lease import BackendLease
from manila_lite.manager.runtime.share_usage import UsageCollector
from manila_lite.network import load as plugins

LOG = log.getLogger(__name__)

PLANS: list[engine.Plan[Any]] = [
    *shares.PLANS,
    *deferred_deletion.PLANS,
    *access.PLANS,
    *snapshots.PLANS,
    *share_servers.PLANS,
    *share_network_subnets.PLANS,
    *security_services.PLANS,
    *share_network_subnet_metadata.PLANS,
    *manage_servers.PLANS,
    *ensure.PLANS,
    *share_server_migration.PLANS,
    *share_migration.PLANS,
    *migration_source.PLANS,
    *former_exports.PLANS,
    *snapshot_access.PLANS,
    *manage_shares.PLANS,
    *share_replicas.PLANS,
    *share_replica_promotion.PLANS,
    *share_groups.PLANS,
    *share_group_snapshots.PLANS,
    *share_backups.PLANS,
]

#: Seconds before the second try to start a backend, and the longest pause between tries. Each pause doubles.
_RETRY, _RETRY_MOST = 1.0, 60.0
#: The longest pause for a backend with several hosts: its clients wait until this host has taken over.
_RETRY_MOST_ELSEWHERE = 4.0
#: Seconds that running work has to end before the backend passes to another machine, and seconds between looks. The other
#: machine does again what took longer.
_FINISH, _FINISHED = 30.0, 0.05
#: Seconds for the manager's own threads to end by themselves at a stop. Then the driver shuts down, which ends its waits.
_PATIENCE = 10.0
#: Seconds within which requests for a report are collected.
_SETTLE = 0.2
#: Seconds between looks for unused share servers.
_CLEAN_EVERY = 60.0
#: Seconds between looks for resources that the network plugin holds for deleted servers.
_LEFTOVERS_EVERY = 600.0
#: Seconds between looks for remains of copies of shares.
_COPIES_EVERY = 30.0


def check(conf: Any) -> None:
    """Check that every enabled backend can be started as configured. Start nothing.

    :raises errors.BadConfig: one cannot; the message is one line.
    """
    if not conf.enabled_share_backends:
        raise errors.BadConfig('enabled_share_backends: names no backend')
    drivers = [_driver(conf, name) for name in conf.enabled_share_backends]
    if any(driver.HANDLES_SHARE_SERVERS for driver in drivers):
        plugins.make(conf)


def _check_values(conf: Any, name: str) -> None:
    """Read each option of the backend once: a wrong value would be met by whatever reads it first, hours later.

    :raises errors.BadConfig: a value is wrong.
    """
    driver = load.load_class(conf[name].driver)
    conf.register_opts(driver.OPTIONS, group=name)
    for opt in (*backend_conf.BACKEND, *driver.OPTIONS):
        try:
            getattr(conf[name], opt.dest)
        except (cfg.Error, ValueError) as bad:
            raise errors.BadConfig(
                f'[{name}] {opt.name}: {str(bad).rpartition("is not valid: ")[2]}'
            ) from None


def _driver(conf: Any, name: str) -> Any:
    backend_conf.register_backend(conf, name)
    section = conf[name]
    if not section.driver:
        raise errors.BadConfig(f'[{name}] driver: missing; name a driver, for instance "linux" or "dummy"')
    _check_values(conf, name)
    driver = load.make(section.driver, name, f'{conf.host}@{name}', conf, Path(conf.state_path) / name)
    configured_files.check_backend(conf, name)
    if section.driver_handles_share_servers != driver.HANDLES_SHARE_SERVERS:
        raise errors.BadConfig(
            f'[{name}] driver_handles_share_servers: the driver {section.driver} needs '
            f'{driver.HANDLES_SHARE_SERVERS}'
        )
    if driver.HANDLES_SHARE_SERVERS:
        admin_network.check(conf, name, driver)
    return driver


class ShareManager:
    """The share manager of one backend.

    :raises errors.BadConfig: the backend's section cannot work; the message is one line.
    """

    def __init__(self, services: context.Services, name: str):
        conf = services.conf
        self.services = services
        self.name = name
        self.host = f'{conf.host}@{name}'
        self.driver = trace.calls(_driver(conf, name), 'driver', conf)
        self.section = conf[name]
        #: The section of the backend, for reading it again.
        self.section_in_files = Section(conf, name, self.host, self.driver.backend.state_dir)
        #: The failed run of an administrator over the shares, to be tried again.
        self.failed_run: str | None = None
        #: The fingerprint with which the newest run over all shares began.
        self.ensured_as: str | None = None
        #: For shares that still admit the client of an ended copy: the time of the next try, and the pause after it, in
        #: seconds.
        self.shut_out_tries: dict[str, tuple[float, float]] = {}
        self.backups = share_backups.make_backup_driver(
            self.driver, self.section, self.driver.backend.state_dir.resolve()
        )
        self.moves = ShareMoves(self.driver.backend.state_dir.resolve(), conf, self.section)
        zone = self.section.backend_availability_zone or conf.storage_availability_zone
        self._take_up(Worker(services, 'share', self.host, self.host, zone, PLANS, self))
        for copies in filter(None, (share_backups.copies_of(self), self.moves)):
            copies.may_run = self.backend_lease.held
        self.worker.every(conf.capability_interval, self._report)
        self.worker.every(_COPIES_EVERY, self._clean_moves)
        for seconds, work in (
            (_CLEAN_EVERY, share_server_upkeep.remove_unused),
            (_LEFTOVERS_EVERY, share_server_upkeep.free_leftovers),
            (conf.periodic_deferred_delete_interval, deferred_deletion.try_again),
            (self.section.replica_state_update_interval, share_replicas.update_all),
            (_COPIES_EVERY, share_backups.clean),
        ):
            self.worker.every(seconds, functools.partial(self._work_if_may, work))
        if conf.share_usage_interval and isinstance(self.driver, MeasuresUsage):
            usage = UsageCollector(services, self.host, self.driver)
            self.worker.every(
                conf.share_usage_interval,
                functools.partial(self._work_if_may, lambda manager: usage.collect()),
            )

    def _take_up(self, worker: Worker, environment: Environment = REAL) -> None:
        """Set up the backend lease, events and threads of the worker. The simulation passes another environment."""
        self.worker = worker
        self._environment = environment
        self.clock = environment.monotonic
        self._fails_over = (
            self.driver if isinstance(self.driver, FailsOver) and self.driver.fails_over else None
        )
        self.backend_lease = BackendLease(
            self.services, self.host, worker.binary, environment, self._fails_over
        )
        worker.runner.may_claim = self._may_work
        self.backend_lease.may_take = worker.runner.clock_agrees
        if self._fails_over:
            worker.runner.executor.presence = self._fails_over.presence
            worker.runner.works_alone = True
        self._ready_until: threading.Event | None = None  # ends with the lease for which the backend is ready
        self._stopping = environment.event()
        self._reporting = environment.lock()
        self._report_wanted = environment.event()
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Register the service, and make the backend ready in the background, unless another process works there."""
        self.worker.start(listen=False)
        self.backend_lease.start()
        if self.backend_lease.held():
            self.worker.listen()
        for target in (self._serve, self._report_when_wanted):
            self._threads.append(
                self._environment.thread(target, f'{self.name}-{target.__name__.strip("_")}')
            )

    def reload(self) -> None:
        """Use the values that this process has just read from its files, in place of those read since its start."""
        self.section_in_files.follow_files()

    def stop(self) -> None:
        """Finish the work under way and stop. Shares stay served."""
        self._stopping.set()
        self._report_wanted.set()  # its thread sees that it is to end
        self.backend_lease.finish()
        self.worker.stop(last=not self.backend_lease.elsewhere())
        self._let_copies(run=False)
        for thread in self._threads:
            thread.join(_PATIENCE)
        self.driver.shutdown()
        for thread in self._threads:
            thread.join()  # while it is at the backend, no other process may be
        self.backend_lease.stop()

    def _may_work(self) -> bool:
        end = self._ready_until
        return end is not None and not end.is_set() and self.backend_lease.held()

    def _serve(self) -> None:
        """Work at the backend whenever this process holds its lease."""
        if not self.backend_lease.held():
            self._stand_back()
        while end := self.backend_lease.wait():
            self.worker.listen()
            self._make_ready(end)
            end.wait()
            if not self._stopping.is_set():
                self.worker.stop_listening()
                self._let_copies(run=False)
                self._pass_on()
                self._stand_back()

    def _pass_on(self) -> None:
        """If another machine is to serve, end the work under way, let go of the backend, and pass its lease on."""
        latest = self._environment.boottime() + _FINISH
        while (
            self.backend_lease.passes() and self.worker.runner.busy and self._environment.boottime() < latest
        ):
            self._stopping.wait(_FINISHED)
        gone = False
        while self._fails_over and self.backend_lease.passes() and not self._stopping.is_set():
            try:
                if gone or not self.backend_lease.call_off():
                    gone = True
                    self._fails_over.let_go()
                    self.backend_lease.pass_on()
            except Exception:
                LOG.exception(
                    '[%s] the backend could not be passed on to another machine; next try in %s s',
                    self.name,
                    _RETRY,
                )
                self._stopping.wait(_RETRY)

    def _stand_back(self) -> None:
        """Have the backend serve nothing on this host, if another host may serve it."""
        if self._fails_over is None:
            return
        try:
            self._fails_over.stand_back()
        except Exception:
            LOG.exception('[%s] not all that this host served of the backend is gone yet', self.name)

    def _make_ready(self, end: threading.Event) -> None:
        delay = _RETRY
        while not end.is_set():
            try:
                self.driver.setup()
                break
            except Exception:
                LOG.exception('[%s] the backend is not ready; next try in %s s', self.name, delay)
            end.wait(delay)
            delay = min(delay * 2, _RETRY_MOST if self._fails_over is None else _RETRY_MOST_ELSEWHERE)
        if end.is_set():
            return
        self._let_copies(run=True)
        first = startup.ask(
            self
        )  # before anything is claimed: a run that was under way begins anew where it is
        self._ready_until = end
        self._report_wanted.set()
        self.worker.work()
        startup.keep(self, end, first)

    def _let_copies(self, *, run: bool) -> None:
        """Allow copies of shares here, or halt them, since another process works at the backend."""
        for copies in filter(None, (share_backups.copies_of(self), self.moves)):
            copies.resume() if run else copies.halt()

    def servers_run(self) -> None:
        """Take note that the share servers of the backend run, as far as they can."""
        self.backend_lease.ready()

    def report_soon(self) -> None:
        """Have the capacity reported shortly, once the present transaction is committed, for the scheduler."""
        self._report_wanted.set()

    def _report_when_wanted(self) -> None:
        while True:
            self._report_wanted.wait()
            if self._stopping.wait(_SETTLE):
                return
            self._report_wanted.clear()
            if self._stopping.is_set():  # a stop that came just before has had its wake-up cleared
                return
            try:
                self._report()
            except Exception:
                LOG.exception(
                    '[%s] the capacity could not be reported; the next try is in a minute', self.name
                )

    def _report(self) -> None:
        end = self._ready_until
        if end is None or not self._may_work():
            return
        with self._reporting:
            with self.services.db.reader() as conn:
                before = pool_reports.promises_of_pools(conn, self.host)
            strays = manage_servers.strays(self)
            pools = [self._as_row(pool, strays) for pool in self.driver.report()]
            with self.services.db.writer() as conn:
                # A report of another process since ``before`` would be overwritten, and claims counted wrong.
                if self.backend_lease.hold(conn) and not end.is_set():
                    pool_reports.store_report(conn, self.host, pools, before)

    def _clean_moves(self) -> None:
        if self._may_work():
            host_assisted.clean(self)
        elif self.backend_lease.is_on_another_machine():
            host_assisted.leave(self)

    def _work_if_may(self, work: Callable[['ShareManager'], None]) -> None:
        if self._may_work():
            work(self)

    def _as_row(self, pool: Any, more: dict[str, Any]) -> dict[str, Any]:
        capabilities = {
            'share_backend_name': self.section.share_backend_name or self.name,
            'driver_handles_share_servers': self.driver.HANDLES_SHARE_SERVERS,
            'storage_protocol': '_'.join(sorted(self.driver.PROTOCOLS)),
            'pool_name': pool.name,
            'sg_consistent_snapshot_support': consistency_of(self.driver),
            'server_migration_spread_support': spreads_servers(self.driver),
            values.ACCESS_TYPES: {
                proto: list(types)
                for proto, types in self.driver.ACCESS_TYPES.items()
                if proto in self.driver.PROTOCOLS
            },
            **pool.capabilities,
            **more,
        }
        return {
            'host': f'{self.host}#{pool.name}',
            'total_gb': pool.total_gb,
            'free_gb': pool.free_gb,
            'reserved_percentage': pool.reserved_percentage,
            'thin_provisioning': pool.thin_provisioning,
            'max_over_subscription_ratio': pool.max_over_subscription_ratio,
            'capabilities': capabilities,
        }
