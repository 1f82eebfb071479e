# SPDX-License-Identifier: Apache-2.0
"""Pools and services: few rows, which belong to no project and are compared with those of the look before."""

import time
from typing import Any

from manila_lite.api.events.records import POOL, SERVICE, Record
from manila_lite.db.core.engine import Database
from manila_lite.db.queries import services

#: Seconds between looks.
EVERY = 5.0


class Standing:
    """The pools and the services. For one thread, and only while somebody listens who may see them."""

    def __init__(self, db: Database, conf: Any):
        self._db, self._conf = db, conf
        self._known: dict[str, dict[Any, Any]] = {}
        self._due = 0.0

    def look(self, wanted: set[str], now: Any) -> tuple[list[Record], list[Record]]:
        """Return the changes since the last look, and those that were found at a first look, which are as they were.

        ``wanted``: which of the two somebody may see. ``now``: the time that the changes get.
        """
        new: tuple[list[Record], list[Record]] = ([], [])
        if not wanted or (time.monotonic() < self._due and wanted <= self._known.keys()):
            return new
        self._due = time.monotonic() + EVERY
        for event, find in ((POOL, self._pools), (SERVICE, self._services)):
            if event in wanted:
                known, states, rows = self._known.get(event), *find()
                changed = {key for key, state in states.items() if known is None or known.get(key) != state}
                self._known[event] = states
                new[known is None].extend(Record(event, (event, key), None, event, row, states[key], now, about=event)
                                          for key, row in rows(changed))
        return new

    def _pools(self) -> Any:
        with self._db.reader() as conn:
            states = {mark[0]: tuple(mark) for mark in services.list_pool_versions(conn)}

        def rows(changed: set[str]) -> list[tuple[str, Any]]:
            if not changed:
                return []
            with self._db.reader() as conn:
                return [(row.host, row) for row in services.list_pools(conn, changed) if self._is_up(row)]
        return states, rows

    def _services(self) -> Any:
        with self._db.reader() as conn:
            found = {row.id: row for row in services.list_services(conn)}
        # A heartbeat alone is not worth an event.
        states = {key: (self._is_up(row), row.disabled, row.disabled_reason, row.ensuring, row.zone, services.release_of(row))
                  for key, row in found.items()}
        return states, lambda changed: [(key, found[key]) for key in sorted(changed)]

    def _is_up(self, row: Any) -> bool:
        return services.is_up(row.heartbeat_at, row.stopped, self._conf.service_down_time)
