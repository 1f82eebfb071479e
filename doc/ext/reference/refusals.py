# SPDX-License-Identifier: Apache-2.0
"""The next step after each refusal: by its error code, and by its status."""

from collections.abc import Iterator, Mapping

from manila_lite.api.http.next_steps import BY_CODE, BY_STATUS, FOR_ADMINISTRATORS
from manila_lite.siblings.compute import next_steps as compute
from reference import rst


def lines() -> Iterator[str]:
    """Yield a table of the codes, one of those of the compute service, and one of the statuses. An administrator's step is
    shown where it differs.
    """
    yield from _table('Code', BY_CODE, FOR_ADMINISTRATORS)
    yield from ('The compute service also has these:', '')
    yield from _table('Code', compute.BY_CODE, compute.FOR_ADMINISTRATORS)
    yield from ('Other codes have the step of their status:', '')
    yield from _table('Status', {str(status): step for status, step in BY_STATUS.items()}, {})


def _table(what: str, steps: Mapping[str, str], for_administrators: Mapping[str, str]) -> Iterator[str]:
    rows = []
    for name in sorted(steps.keys() | for_administrators.keys()):
        step, own = steps.get(name, ''), for_administrators.get(name, '')
        rows.append((rst.code(name), rst.plain(step), rst.plain(own) if own != step else ''))
    yield from rst.table((what, 'Next', 'For administrators'), rows, (22, 39, 39))
