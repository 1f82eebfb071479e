# SPDX-License-Identifier: Apache-2.0
"""A limit on the log lines that clients without a login can cause: so many for each cause in an interval, then one line
with the number of those left out.

oslo.log's own limit (``rate_limit_interval``) counts all lines of a process together, so that such a client could
suppress the lines of others.
"""

import collections
import logging
import threading
import time

from oslo_config import cfg

from manila_lite.api.http import request_log

#: Loggers whose lines a client without a login can cause.
LOGGERS = (
    request_log.STRANGERS.name,
    'manila_lite.api.server.admission',
    'manila_lite.api.server.connection',
    'manila_lite.api.server.event_loop',
    'manila_lite.api.http.faults',
    'manila_lite.api.http.keystone',
    'keystonemiddleware.auth_token',
    'oslo_middleware.basic_auth',
    'oslo_middleware.cors',
)
#: Causes that are counted separately.
_MOST = 1000
_MORE = '%s more lines like this were left out: %s'

Cause = tuple[str, int, str]


class RateLimitFilter(logging.Filter):
    """A filter that passes ``burst`` lines of a cause in each ``interval`` of seconds. The cause is the line without
    its values.
    """

    def __init__(self, burst: int, interval: float):
        super().__init__()
        self._burst, self._interval = burst, interval
        self._lock = threading.Lock()
        self._since = time.monotonic()
        self._counts: collections.Counter[Cause] = collections.Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether the line is written. The lines left out are reported before the first line of the next interval."""
        cause = (record.name, record.levelno, str(record.msg))
        with self._lock:
            left_out = self._left_out()
            if cause not in self._counts and len(self._counts) >= _MOST:
                cause = (record.name, record.levelno, '...')
            self._counts[cause] += 1
            good = self._counts[cause] <= self._burst
        for (name, level, text), count in left_out:
            logging.getLogger(name).log(level, _MORE, count, text)
        return good

    def _left_out(self) -> list[tuple[Cause, int]]:
        if time.monotonic() - self._since < self._interval:
            return []
        self._since = time.monotonic()
        counts, self._counts = self._counts, collections.Counter()
        return [(cause, count - self._burst) for cause, count in counts.items() if count > self._burst]


def install(conf: cfg.ConfigOpts) -> None:
    """Limit the log lines that clients without a login can cause. Replaces the limits of an earlier call."""
    flood = RateLimitFilter(conf.log_flood_burst, conf.log_flood_interval)
    for logger in map(logging.getLogger, LOGGERS):
        for old in [one for one in logger.filters if isinstance(one, RateLimitFilter)]:
            logger.removeFilter(old)
        if conf.log_flood_burst:
            logger.addFilter(flood)
