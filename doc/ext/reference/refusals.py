# SPDX-License-Identifier: Apache-2.0
"""The next step after each refusal: by its error code, and by its status."""

from collections.abc import Iterator, Mapping

from manila_lite.api.http.next_steps import BY_CODE, BY_STATUS, FOR_ADMINISTRATORS
from reference import rst


def lines() -> Iterator[str]:
    """Yield a table of the codes, and one of the statuses. An administrator's step is shown where it differs."""
    codes = dict.fromkeys(sorted(BY_CODE.keys() | FOR_ADMINISTRATORS.keys()), '')
    yield from _table('Code', codes | BY_CODE, FOR_ADMINISTRATORS)
    yield from ('Other codes have the step of their status:', '')
    yield from _table('Status', {str(status): step for status, step in BY_STATUS.items()}, {})


def _table(what: str, steps: Mapping[str, str], for_administrators: Mapping[str, str]) -> Iterator[str]:
    yield from rst.table((what, 'Next', 'For administrators'), [
        (rst.code(name), rst.plain(step), rst.plain(own) if (own := for_administrators.get(name, '')) != step else '')
        for name, step in steps.items()], (22, 39, 39))
