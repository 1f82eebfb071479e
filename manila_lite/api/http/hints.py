# SPDX-License-Identifier: Apache-2.0
"""The next step after a refusal: by its error code and its caller, else by its status."""

import fnmatch
import functools
from collections.abc import Mapping
from typing import Protocol

from manila_lite.api.http.next_steps import BY_CODE, BY_STATUS, FOR_ADMINISTRATORS


class NextStep(Protocol):
    """A function that returns the next step after a refusal. ``administrator``: the caller has the rights of one."""

    def __call__(self, status: int, code: str, *, administrator: bool = False) -> str: ...


def from_tables(by_code: Mapping[str, str], for_administrators: Mapping[str, str]) -> NextStep:
    """Return the function that finds the next step in these tables. A row of the code itself precedes all patterns."""

    @functools.cache
    def next_step(status: int, code: str, *, administrator: bool = False) -> str:
        tables = (for_administrators, by_code) if administrator else (by_code,)
        exact = (rows[code] for rows in tables if code in rows)
        patterns = (step for rows in tables for row, step in rows.items() if fnmatch.fnmatchcase(code, row))
        return next(exact, '') or next(patterns, '') or BY_STATUS.get(status, BY_STATUS[500])

    return next_step


next_step = from_tables(BY_CODE, FOR_ADMINISTRATORS)
