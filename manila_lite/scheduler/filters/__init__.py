# SPDX-License-Identifier: Apache-2.0
"""The filters: one file for each reason to refuse a pool."""

from collections.abc import Sequence

from manila_lite.scheduler import load as entry_points
from manila_lite.scheduler.interface import Filter


def load(names: Sequence[str]) -> list[Filter]:
    """Return the filters of these entry points, in this order.

    :raises errors.BadConfig: a name is not known or given twice, cannot be imported, or is no filter.
    """
    return [cls() for cls in entry_points.classes('filters', names, Filter)]  # type: ignore[type-abstract]  # as a base
