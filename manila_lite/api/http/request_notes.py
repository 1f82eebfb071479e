# SPDX-License-Identifier: Apache-2.0
"""Notes of requests that were slow or ended in an error of the service. A thread writes them, so no request waits for that.

The thread begins with a note, and ends when all are written: an application may be made before a server forks its processes.
"""

import logging
import math
import threading
import time
from typing import Any

import webob
from oslo_context import context as oslo_context
from oslo_middleware import request_id
from oslo_utils import timeutils

from manila_lite import context, metrics
from manila_lite.api.http import request_log
from manila_lite.api.http.definition import SHARE
from manila_lite.api.http.unwritten_notes import Note, UnwrittenNotes
from manila_lite.db.core import engine
from manila_lite.db.queries import request_notes

LOG = logging.getLogger(__name__)

#: Status from which on it is an error of the service.
_FAILED = 500
#: Seconds for which notes are gathered; and for which they wait, at most, before another try to write them.
_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
#: Seconds between two looks for old notes, and for which the end of a process waits for the thread.
_DELETE_EVERY, _END = 60.0, 5.0
#: Characters of a name in the database.
_NAME = 255


class Notes:
    """The notes of one process. ``[api] slow_request``: the seconds from which on a request is slow."""

    def __init__(self, services: context.Services):
        self._db, self._host = services.db, services.conf.host[:_NAME]
        self._slow = services.conf.api.slow_request or math.inf
        self._streams = frozenset(
            f'/{prefix}{call.path}' for call in SHARE.calls if call.streams for prefix in SHARE.prefixes
        )
        self._lock = threading.Lock()
        self._unwritten = UnwrittenNotes()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self._delete_at = 0.0

    def note(self, environ: dict[str, Any], status: int, seconds: float) -> None:
        """Note the request if it took long, or failed. Never fails."""
        if seconds < self._slow and status < _FAILED:
            return
        try:
            self._note(environ, status, seconds)
        except Exception:
            LOG.exception('A request is not among the notes')

    def close(self) -> None:
        """Write the notes that there are, and take no more. May be called twice."""
        with self._lock:
            self._closed.set()
            thread = self._thread
        if thread is not None:
            thread.join(_END)

    def _note(self, environ: dict[str, Any], status: int, seconds: float) -> None:
        path = environ.get(request_log.ROUTE) or _find_path(environ)
        is_slow, is_failed = seconds >= self._slow and path not in self._streams, status >= _FAILED
        if path == request_log.HEALTHCHECK or not (is_slow or is_failed):
            return
        method = environ.get('REQUEST_METHOD')
        project_id = getattr(oslo_context.get_current(), 'project_id', None)
        self._keep(
            {
                'created_at': timeutils.utcnow(),
                'api_host': self._host,
                'path': path,
                'code': status,
                'seconds': seconds,
                'method': method if method in metrics.METHODS else metrics.OTHER,
                'request_id': environ.get(request_id.ENV_REQUEST_ID),
                'project_id': project_id[:_NAME] if project_id else None,
                'requests': 1,
                'slow': int(is_slow),
                'failed': int(is_failed),
            }
        )

    def _keep(self, note: Note) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            self._unwritten.add(note, time.monotonic())
            if self._thread is None:
                thread = threading.Thread(target=self._run, name='request notes', daemon=True)
                thread.start()
                self._thread = thread

    # The thread

    def _run(self) -> None:
        pause, is_last = _PAUSE, False
        while not is_last:
            is_last = self._closed.wait(pause)
            with self._lock:
                if not self._unwritten:
                    self._thread = None
                    return
                notes = self._unwritten.take(math.inf if is_last else time.monotonic())
            if notes:
                pause = _PAUSE if self._write(notes) else min(2 * pause, _LONGEST_PAUSE)

    def _write(self, notes: list[Note]) -> bool:
        """Write notes, and delete old ones now and then. Return whether the database answered."""
        try:
            with self._db.writer() as conn:
                request_notes.add(conn, notes)
                if time.monotonic() >= self._delete_at:
                    request_notes.delete_old(conn)
                    self._delete_at = time.monotonic() + _DELETE_EVERY
        except engine.TRANSIENT as away:
            LOG.warning('Notes of %s requests wait for the database: %s', len(notes), away)
            with self._lock:
                self._unwritten.put_back(notes)
            return False
        except Exception:
            LOG.exception('Notes of %s requests are lost', len(notes))
        return True


def _find_path(environ: dict[str, Any]) -> str:
    """Return the template of the path of a request that was not dispatched, as while tokens cannot be checked."""
    try:
        raw = webob.Request(environ)
        prefix, *parts = raw.path_info.removeprefix('/').split('/')
        version = SHARE.version(raw)
        match = SHARE.routes.find(parts, version) if prefix in SHARE.prefixes else None
    except Exception:  # the path, or the version, is none
        return metrics.OTHER
    return f'/{prefix}{match.calls[0].path_at(version)}' if match else metrics.OTHER
