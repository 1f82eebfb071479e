# SPDX-License-Identifier: Apache-2.0
"""Reconciliation of the host with the database: at the agent's start, and periodically.

Operations under way are left alone. A server that should run and does not is stopped, through the plan for that; a
guest or mount that should not be there is ended. A missing operation is begun again.
"""

from collections.abc import Callable
from typing import Any

from oslo_log import log

from manila_lite import context, engine
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as work
from manila_lite.siblings.compute.actions import KINDS, TOPIC
from manila_lite.siblings.compute.checks import AttachmentChecks
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.drivers.interface import Power
from manila_lite.siblings.compute.host import Host, server_of, share_of
from manila_lite.siblings.compute.states import ATTACHMENT, SERVER

LOG = log.getLogger(__name__)

_BROKEN = 'The device of the share failed; a hard reboot of the server restores it.'


class Reconciler:
    """The reconciler of one host."""

    def __init__(self, host: Host):
        self._host = host
        self._services = host.services
        self._ctx = context.admin(host.services)
        self._checks = AttachmentChecks(host)
        self._first = True

    def run(self) -> None:
        """Correct the differences, or begin operations that do. One failure does not stop the other checks."""
        first, self._first = self._first, False
        for what in (
            self._checks.run,
            lambda: self._servers(first),
            self._discard_unknown_guests,
            self._unmount_unneeded,
            self._resume_stuck,
            lambda: self._host.grants.reconcile(self._host.name),
        ):
            self._try(what)

    def _try(self, what: Callable[..., Any], *args: Any) -> None:
        try:
            what(*args)
        except Exception:
            LOG.exception('Host %s could not be compared with the database; trying again', self._host.name)

    # Servers ----------------------------------------------------------------------------------

    def _servers(self, first: bool) -> None:
        with self._services.db.reader() as conn:
            rows = store.servers_of_host(conn, self._host.name)
        for row in rows:
            if row.status in ('active', 'stopped'):
                self._try(self._check_server, row.id, first)

    def _check_server(self, server_id: str, first: bool) -> None:
        """Check one server, while no step of an operation works on it."""
        with self._host.locked(server_id):
            with self._services.db.reader() as conn:
                row = store.find_server(conn, server_id)
                if row is None or store.with_open_operation(conn, [server_id]):
                    return
                attached = store.attachments(conn, (server_id,))
            if row.status == 'active':
                seen = self._host.driver.inspect(server_of(row), tuple(share_of(one) for one in attached))
                if seen.power is not Power.RUNNING:
                    self._guest_ended(row, first)
                elif seen.broken:
                    broken = [
                        one for one in attached if one.share_id in seen.broken and one.status == 'active'
                    ]
                    self._fail_broken_shares(row, broken)
            elif row.status == 'stopped':
                seen = self._host.driver.inspect(server_of(row), ())
                if seen.power is Power.RUNNING:
                    LOG.warning('%s: runs, but its record says stopped: it is switched off', server_id)
                    self._host.driver.power_off(server_of(row), hard=True)

    def _guest_ended(self, row: Any, first: bool) -> None:
        verb = 'hard_reboot' if first and self._host.conf.compute.resume_guests else 'stop'
        LOG.warning(
            '%s: runs no more; %s',
            row.id,
            'it is started again' if verb == 'hard_reboot' else 'it is stopped',
        )
        with self._services.db.writer() as conn:
            transitions.begin(conn, SERVER, verb, row.id)
            store.add_event(conn, row, verb, 'the server was found to run no more')
            self._begin(conn, f'server.{verb}', 'server', row.id, row.id)

    def _fail_broken_shares(self, row: Any, attached: list[Any]) -> None:
        with self._services.db.writer() as conn:
            for one in attached:
                LOG.warning('%s: the device of share %s broke', row.id, one.share_id)
                transitions.fail(conn, ATTACHMENT, 'stop', one.id, fault=_BROKEN)
                store.add_event(conn, row, 'share_broken', f'share {one.share_id}: {_BROKEN}')

    def _discard_unknown_guests(self) -> None:
        running = self._host.driver.list_running()
        with self._services.db.reader() as conn:
            known = {row.id for row in store.servers_of_host(conn, self._host.name)}
        for server_id in running - known:
            LOG.warning('%s: runs without a record: it is deleted', server_id)
            self._try(self._host.driver.discard, server_id)

    # Mounts -----------------------------------------------------------------------------------

    def _unmount_unneeded(self) -> None:
        for key in self._host.driver.list_mounted() - self._host.needed():
            with self._host.locked(key):
                if key not in self._host.needed():
                    LOG.warning('Mount %s is needed by no server: it is removed', key)
                    self._try(self._host.driver.umount_key, key)

    # Work -------------------------------------------------------------------------------------

    def _resume_stuck(self) -> None:
        """Handle transient statuses without an open operation: theirs was set aside, or its rows are lost."""
        with self._services.db.reader() as conn:
            servers = [
                row for row in store.servers_of_host(conn, self._host.name) if row.status in SERVER.transient
            ]
            attached = [
                row
                for row in store.attachments_of_host(conn, self._host.name)
                if row.status in ATTACHMENT.transient and row.server_status != 'deleting'
            ]
            busy = store.with_open_operation(conn, [row.id for row in (*servers, *attached)])
        for row in servers:
            if row.id not in busy:
                self._try(self._unstick_server, row)
        for row in attached:
            if row.id not in busy:
                self._try(self._redrive, row)

    def _unstick_server(self, row: Any) -> None:
        with self._services.db.writer() as conn:
            if store.with_open_operation(conn, [row.id]):
                return
            if row.status == 'deleting':
                self._begin(conn, 'server.delete', 'server', row.id, row.id)
            else:
                transitions.settle(
                    conn,
                    SERVER,
                    (row.id,),
                    row.status,
                    'error',
                    fault='The operation was stopped for an administrator to examine.',
                )

    def _redrive(self, row: Any) -> None:
        verb = 'attach' if row.status == 'attaching' else 'detach'
        with self._services.db.writer() as conn:
            if not store.with_open_operation(conn, [row.id]):
                self._begin(
                    conn,
                    f'attachment.{verb}',
                    'share attachment',
                    row.id,
                    row.server_id,
                    server_id=row.server_id,
                )

    def _begin(
        self, conn: Connection, kind: str, resource_type: str, resource_id: str, mutex_key: str, **data: Any
    ) -> None:
        work.supersede(conn, resource_id, (*KINDS, 'server.delete'))  # operations that were set aside
        engine.begin(
            conn,
            self._ctx,
            kind,
            resource_type,
            resource_id,
            topic=TOPIC,
            host=self._host.name,
            mutex_key=mutex_key,
            data=data,
        )
