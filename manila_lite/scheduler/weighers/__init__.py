# SPDX-License-Identifier: Apache-2.0
"""The weighers: one file for each reason to prefer a pool."""

from collections.abc import Mapping, Sequence

from manila_lite.scheduler import load as entry_points
from manila_lite.scheduler.interface import Weigher


def load(names: Sequence[str], multipliers: Mapping[str, float] | None = None) -> list[Weigher]:
    """Return the weighers of these entry points, each with its multiplier: 1.0 where none is given.

    :raises errors.BadConfig: a name is not known or given twice, cannot be imported, or is no weigher.
    """
    known = entry_points.classes('weighers', names, Weigher)  # type: ignore[type-abstract]  # as a base
    classes = zip(names, known, strict=True)
    return [cls((multipliers or {}).get(name, 1.0)) for name, cls in classes]
