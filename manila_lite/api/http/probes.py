# SPDX-License-Identifier: Apache-2.0
"""Probes of services that this process depends on: in the background, and not too often."""

import logging
import threading
import time
from collections.abc import Callable

LOG = logging.getLogger(__name__)


class Probe:
    """A probe of one service. ``ask`` returns a text about a missing part, or None. It may take long.

    ``away``: the text while ``ask`` takes too long. ``holds``: the seconds for which the answer None is valid;
    ``holds_bad``: those for which a text is valid.
    """

    def __init__(self, ask: Callable[[], str | None], away: str, holds: float, holds_bad: float = 1.0):
        self._ask, self._away, self._known_for, self._holds_bad = ask, away, holds, holds_bad
        self._lock = threading.Lock()
        self._known: str | None = away
        self._until = 0.0  # of the monotonic clock
        self._under_way: threading.Event | None = None
        self._asked = False

    def begin(self) -> bool:
        """Ask the service again, if its last answer is too old. Return whether this caller should wait for the new answer.

        Other callers get the last answer meanwhile, so a service that does not answer delays only one caller.
        """
        with self._lock:
            if self._under_way is not None:
                return not self._asked
            if time.monotonic() < self._until:
                return False
            self._under_way = threading.Event()
        threading.Thread(target=self._run, args=(self._under_way,), name='readiness', daemon=True).start()
        return True

    def end(self, seconds: float) -> str | None:
        """Return the answer; wait for it for so many seconds at most."""
        under_way = self._under_way
        if under_way is not None and not under_way.wait(max(seconds, 0.0)):
            return self._away
        return self._known

    @property
    def known(self) -> str | None:
        """The last answer."""
        return self._known

    def _run(self, done: threading.Event) -> None:
        try:
            known = self._ask()
        except Exception:
            LOG.exception('What is missing cannot be said')
            known = self._away
        with self._lock:
            self._known, self._asked = known, True
            self._until = time.monotonic() + (self._known_for if known is None else self._holds_bad)
            self._under_way = None
        done.set()
