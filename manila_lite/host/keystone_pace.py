# SPDX-License-Identifier: Apache-2.0
"""The pace of requests of keystoneauth, which goes by the calendar. For modules that import keystoneauth."""

from typing import Any

from keystoneauth1._fair_semaphore import FairSemaphore

_plain = FairSemaphore._wait_for_execution  # noqa: SLF001 - there is no public way


def _wait(self: Any, begin: float) -> None:
    if self._rate_delay:
        _plain(self, begin)


def keep_none() -> None:
    """Have requests begin at once where no rate is set.

    A request may not begin before a time of the calendar: without a rate, that at which its adapter was made. If the clock was
    ahead then, as before a time service has set it, each request would wait until the clock is there again.
    """
    FairSemaphore._wait_for_execution = _wait  # type: ignore[assignment, method-assign]  # noqa: SLF001 - as above
