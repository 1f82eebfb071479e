# SPDX-License-Identifier: Apache-2.0
"""Figures: what becomes of the samples of phases."""

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import phases
import report
from sides import PARTS

#: The sample that is the sum over the processes of a product.
SUM = 'own'


class Figure(NamedTuple):
    """A line of the table: the samples of a phase, and how they make one value; ``least`` or ``most`` is the goal, as ratio."""

    what: str
    unit: str
    phase: str
    sample: str
    value: Callable[[Sequence[float]], float] = statistics.median
    least: float | None = None
    most: float | None = None

    def of(self, samples: phases.Samples) -> float:
        """Return the value."""
        return self.value(samples[self.phase, self.sample])


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return report.percentile(list(values), 0.99)


def with_sums(samples: phases.Samples) -> phases.Samples:
    """Add the sums over the parts of the product."""
    for phase in {phase for phase, name in samples if name in PARTS}:
        parts = zip(*(samples[phase, name] for name in PARTS), strict=True)
        samples[phase, SUM] = [sum(values) for values in parts]
    return samples
