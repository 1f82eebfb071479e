# SPDX-License-Identifier: Apache-2.0
"""Outages in the log: one line when the database, the broker or Keystone does not answer, and one when it answers again.

Everything that a process does fails meanwhile, again and again, each time with a traceback. These lines are left out: work is
tried again, and requests have their answers. The threads that work need not know any of this.
"""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from oslo_config import cfg

from manila_lite.cmd import log_lines, preflight
from manila_lite.db.core import engine
from manila_lite.rpc import broker

LOG = logging.getLogger(__name__)

#: Seconds between two looks whether a service answers again.
_PAUSE = 2.0
#: Seconds after it answers again in which an error counts only if it does not answer once more: connections of before end.
_GRACE = 30.0
#: Loggers of the check of tokens.
_TOKENS = frozenset(('keystonemiddleware.auth_token', 'manila_lite.api.http.keystone'))
#: What SQLAlchemy adds to an error of a database.
_ADDED = re.compile(r'(?:\[SQL: |\(Background on this error at: ).*')


class Outage:
    """The outages of one service, as this process sees them. ``answers`` asks whether it is there; it may fail."""

    def __init__(self, subject: str, answers: Callable[[], bool]):
        self._subject, self._answers = subject, answers
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._watched = False
        self._trusted = 0.0  # until then, of the monotonic clock, one error says nothing

    def notice(self, reason: str) -> None:
        """Say that the service does not answer, unless that is known."""
        with self._lock:
            if self._watched and self._pid == os.getpid():  # a thread of before a fork watches no more
                return
            self._watched, self._pid = True, os.getpid()
        # In this thread, the lines would have the request that it works for.
        threading.Thread(target=self._watch, args=(reason,), name='outage', daemon=True).start()

    def _watch(self, reason: str) -> None:
        began = time.monotonic()
        said = began >= self._trusted
        if said:
            self._say(reason)
        while not self._is_back():
            if not said:
                self._say(reason)
                said = True
            time.sleep(_PAUSE)
        if said:
            LOG.warning('%s answers again, after %.0f s', self._subject, time.monotonic() - began)
        with self._lock:
            self._watched, self._trusted = False, time.monotonic() + _GRACE

    def _say(self, reason: str) -> None:
        LOG.warning(
            '%s does not answer. Errors that follow from it are left out here until it does: %s',
            self._subject,
            reason,
        )

    def _is_back(self) -> bool:
        try:
            return self._answers()
        except Exception:
            return False


class OutageFilter(logging.Filter):
    """A filter for handlers that leaves out lines about services that do not answer."""

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__()
        self._database = Outage('The database', lambda: preflight.reach(conf) != '')
        self._broker = Outage('The broker (work is found by polling)', lambda: broker.answers(conf))
        self._keystone = Outage('Keystone', lambda: _keystone().Login(conf).failure() is None)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.INFO or record.name == __name__:
            return True
        for error in _errors(record):
            about = (
                self._database
                if engine.is_lost(error)
                else self._broker
                if broker.is_lost(record.name, error)
                else self._keystone
                if record.name in _TOKENS and _keystone().is_lost(error)
                else None
            )
            if about is not None:
                about.notice(_ADDED.sub('', ' '.join(str(error).split())).rstrip())
                return False
        return True


def _keystone() -> Any:
    from manila_lite.api.http import login  # its packages are slow to import, and not for every strategy

    return login


def _errors(record: logging.LogRecord) -> Iterator[BaseException]:
    """Yield the errors that a line is about, with their causes."""
    values = record.args.values() if isinstance(record.args, dict) else record.args or ()
    for first in (record.exc_info[1] if record.exc_info else None, *values, broker.current(record.name)):
        error = first
        while isinstance(error, BaseException):
            yield error
            error = error.__cause__


def install(conf: cfg.ConfigOpts) -> None:
    """Say outages in the log once. Call it whenever handlers may have changed."""
    new = OutageFilter(conf)
    for handler in log_lines.handlers():
        if not any(isinstance(old, OutageFilter) for old in handler.filters):
            handler.addFilter(new)
