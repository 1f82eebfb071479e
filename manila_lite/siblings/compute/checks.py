# SPDX-License-Identifier: Apache-2.0
"""The periodic look at attachments in use: their mounts answer, and their access rules are there.

A mount or a rule that is lost is made again. Nothing here ends a guest: if its device cannot be mended while it runs,
its attachment gets the status error, and a hard reboot restores it.
"""

from collections.abc import Iterable
from typing import Any

from oslo_log import log

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.drivers.interface import Health
from manila_lite.siblings.compute.host import Host, share_of
from manila_lite.siblings.compute.share_plans import message_for_owner
from manila_lite.siblings.compute.states import ATTACHMENT

LOG = log.getLogger(__name__)

_SILENT = 'The NFS server of the share does not answer; the share works again when it does.'
_DEAD = 'The mount of the share on the host failed and was made again; a hard reboot of the server restores the share.'


class AttachmentChecks:
    """The checks of the attachments in use on one host."""

    def __init__(self, host: Host):
        self._host = host
        self._services = host.services

    def run(self) -> None:
        """Check all attachments whose server runs. One failure does not stop the checks of others."""
        rows = self._in_use()
        faults = self._rules(rows) | self._mounts(rows)
        with self._services.db.writer() as conn:
            for row in rows:
                if row.fault != faults.get(row.id):
                    store.note_fault_in_use(conn, row.id, faults.get(row.id))

    def _in_use(self) -> list[Any]:
        with self._services.db.reader() as conn:
            return [
                row
                for row in store.attachments_of_host(conn, self._host.name)
                if row.status == 'active' and row.server_status == 'active'
            ]

    # Mounts -----------------------------------------------------------------------------------

    def _mounts(self, rows: Iterable[Any]) -> dict[str, str]:
        """Check each mount once; return faults by attachment."""
        faults: dict[str, str] = {}
        by_key: dict[str, list[Any]] = {}
        for row in rows:
            by_key.setdefault(self._host.driver.mount_key(share_of(row)), []).append(row)
        for key, users in by_key.items():
            try:
                if self._mount(key, users):
                    faults |= dict.fromkeys([row.id for row in users], _SILENT)
            except Exception as bad:
                LOG.exception('Mount %s of share %s could not be checked', key, users[0].share_id)
                faults |= dict.fromkeys([row.id for row in users], message_for_owner(bad))
        return faults

    def _mount(self, key: str, users: list[Any]) -> bool:
        """Check a mount, and make it again if it is lost. Say whether its server is silent."""
        health = self._host.driver.mount_health(share_of(users[0]))
        if health in (Health.MISSING, Health.DEAD):
            with self._host.locked(key):
                if key not in self._host.needed():
                    return False  # its servers were stopped meanwhile
                LOG.warning('The mount of share %s is %s: it is made again', users[0].share_id, health.value)
                if health is Health.DEAD:
                    # Before the new mount, which hides the failure: the guest keeps the old one.
                    self._fail(users)
                self._host.driver.share_mount(share_of(users[0]))
            self._record(users, 'share_mounted', 'the mount was lost, and was made again')
        return health is Health.SILENT

    def _fail(self, users: list[Any]) -> None:
        with self._services.db.writer() as conn:
            for row in users:
                transitions.fail(conn, ATTACHMENT, 'stop', row.id, fault=_DEAD)
                _add_event(conn, row, 'share_broken', _DEAD)

    # Access rules -----------------------------------------------------------------------------

    def _rules(self, rows: Iterable[Any]) -> dict[str, str]:
        """Check each access rule once; return faults by attachment."""
        faults: dict[str, str] = {}
        by_grant: dict[str, list[Any]] = {}
        for row in rows:
            if row.grant_id:
                by_grant.setdefault(row.grant_id, []).append(row)
        for grant_id, users in by_grant.items():
            try:
                if self._host.grants.renew(grant_id):
                    LOG.warning('Access rule of share %s was lost, and is made again', users[0].share_id)
                    self._record(
                        users,
                        'share_rule_restored',
                        'the access rule of the host was lost, and is made again',
                    )
                self._host.grants.rename(grant_id)
            except errors.Unavailable as away:
                LOG.warning('Access rules in use cannot be checked: %s', away)
                break
            except errors.Final as bad:
                faults |= dict.fromkeys(
                    [row.id for row in users], f'The access rule of the host is not in force: {bad}'
                )
            except Exception:
                LOG.exception('The access rule of share %s could not be checked', users[0].share_id)
        return faults

    def _record(self, users: list[Any], event: str, text: str) -> None:
        with self._services.db.writer() as conn:
            for row in users:
                _add_event(conn, row, event, text)


def _add_event(conn: Connection, row: Any, event: str, text: str) -> None:
    """Add an event about an attachment to its server, unless the server was deleted meanwhile."""
    server = store.find_server(conn, row.server_id)
    if server is not None:
        store.add_event(conn, server, event, f'Share {row.share_id}: {text}')
