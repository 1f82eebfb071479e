# SPDX-License-Identifier: Apache-2.0
"""Bounds of logins with a password: how many are checked at a time, and how many of an address may fail.

Checks are slow on purpose, and anybody can ask for them.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from manila_lite import errors
from manila_lite.api.http.rate_limits import Limits
from manila_lite.thread_reserve import ThreadReserve


class LoginChecks:
    """The checks of an API. ``turns``: also for logins without a password, which Keystone checks."""

    def __init__(self, turns: ThreadReserve, limits: Limits):
        self.turns = turns
        self._limits = limits

    @contextlib.contextmanager
    def password(self, environ: dict[str, Any], name: str, *, seen: bool = False) -> Iterator[None]:
        """Take a turn to check the password of a user. ``errors.Unauthorized`` within it counts as a failed login.

        ``seen``: the same password was right before. Others at its address, or who guess its name, do not keep it out.

        :raises errors.Busy: too many logins are checked already, or too many of this address or name.
        :raises errors.TooManyRequests: too many logins of this address have failed.
        """
        with self.turns.login() if seen else self.turns.login(self._limits.limited_address(environ), name):
            if not seen:  # now, since others of the address may have failed while this one was in line
                self._limits.check_failed_logins(environ)
            try:
                yield
            except errors.Unauthorized:
                self._limits.count_failed_login(environ)
                raise
