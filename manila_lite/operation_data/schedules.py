# SPDX-License-Identifier: Apache-2.0
"""Runs of schedules."""

import dataclasses
import datetime

from manila_lite.operation_data.base import ALWAYS, OperationData


@dataclasses.dataclass(kw_only=True)
class RunSchedule(OperationData):
    """``schedules.KIND``. ``run_at``: the time of the schedule that this run is for.

    ``waiting``: the shares and groups that were busy, and are tried again; None before the first try. ``refused``: how many
    copies were refused or failed; ``code`` and ``reason`` are those of the first one. ``kept``: why the first copy stays that
    retention would delete.
    """

    run_at: datetime.datetime = dataclasses.field(
        metadata={'load': datetime.datetime.fromisoformat, 'dump': datetime.datetime.isoformat}
    )
    waiting: list[str] | None = None
    refused: int = dataclasses.field(default=0, metadata=ALWAYS)
    code: str = ''
    reason: str = ''
    kept: str = ''

    def refuse(self, code: str, reason: str) -> None:
        """Count a copy that was refused or failed."""
        self.refused += 1
        self.code, self.reason = self.code or code, self.reason or reason
