# SPDX-License-Identifier: Apache-2.0
"""Pools and services: few rows, which belong to no project and are compared with those of the look before."""

import time
from typing import Any

from manila_lite.api.events.records import POOL, SERVICE, Record
from manila_lite.db.core.engine import Connection, Database
from manila_lite.db.queries import pool_reports, services

#: Seconds between looks.
EVERY = 5.0


class Standing:
    """The pools and the services. For one thread, and only while a listener may see them."""

    def __init__(self, db: Database, conf: Any):
        self._db, self._conf = db, conf
        self._known: dict[str, dict[Any, Any]] = {}
        self._due = 0.0

    def compare(self, wanted: set[str], now: Any) -> tuple[list[Record], list[Record]]:
        """Return the changes since the last look, and those that were found at a first look, which are as they were.

        ``wanted``: which of the two somebody may see. ``now``: the time that the changes get.
        """
        if not wanted or (time.monotonic() < self._due and wanted <= self._known.keys()):
            return [], []
        self._due = time.monotonic() + EVERY
        looks = [self._compare_event(event, now) for event in (POOL, SERVICE) if event in wanted]
        new: tuple[list[Record], list[Record]] = ([], [])
        for event, states, records in looks:  # only now, since all the above may fail
            new[event not in self._known].extend(records)
            self._known[event] = states
        return new

    def _compare_event(self, event: str, now: Any) -> tuple[str, dict[Any, Any], list[Record]]:
        with self._db.reader() as conn:
            states, rows = (self._pools if event == POOL else self._services)(
                conn, self._known.get(event, {})
            )
        return (
            event,
            states,
            [
                Record(event, (event, key), None, event, row, states[key], now, about=event)
                for key, row in rows
            ],
        )

    def _pools(self, conn: Connection, known: dict[Any, Any]) -> tuple[dict[Any, Any], list[tuple[Any, Any]]]:
        states = {version[0]: tuple(version) for version in pool_reports.list_pool_versions(conn)}
        changed = [host for host, state in states.items() if known.get(host) != state]
        rows = pool_reports.list_pools(conn, changed) if changed else []
        return states, [(row.host, row) for row in rows if self._is_up(row)]

    def _services(
        self, conn: Connection, known: dict[Any, Any]
    ) -> tuple[dict[Any, Any], list[tuple[Any, Any]]]:
        found = {row.id: row for row in services.list_services(conn)}
        # A heartbeat alone is not worth an event.
        states = {
            key: (
                self._is_up(row),
                row.disabled,
                row.disabled_reason,
                row.ensuring,
                row.zone,
                services.release_of(row),
            )
            for key, row in found.items()
        }
        return states, [(key, row) for key, row in found.items() if known.get(key) != states[key]]

    def _is_up(self, row: Any) -> bool:
        return services.is_up(row, self._conf.service_down_time)
