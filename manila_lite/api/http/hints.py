# SPDX-License-Identifier: Apache-2.0
"""The next step after a refusal: by its error code and its caller, else by its status."""

import fnmatch
import functools

from manila_lite.api.http.next_steps import BY_CODE, BY_STATUS, FOR_ADMINISTRATORS


@functools.cache
def next_step(status: int, code: str, *, administrator: bool = False) -> str:
    """Return the next step after a refusal. ``administrator``: the caller has the rights of one.

    A row of the code itself precedes all patterns.
    """
    tables = (FOR_ADMINISTRATORS, BY_CODE) if administrator else (BY_CODE,)
    exact = (rows[code] for rows in tables if code in rows)
    patterns = (step for rows in tables for row, step in rows.items() if fnmatch.fnmatchcase(code, row))
    return next(exact, '') or next(patterns, '') or BY_STATUS.get(status, BY_STATUS[500])
