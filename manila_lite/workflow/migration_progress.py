# SPDX-License-Identifier: Apache-2.0
"""Progress of a migration, from its operation's data."""

import time
from collections.abc import Mapping
from typing import Any

from manila_lite.states import Migration


def figures(data: Mapping[str, Any], state: str) -> dict[str, Any]:
    """Return percent, phase, bytes and seconds of a migration whose task state is ``state``."""
    known = data.get('progress') or {}
    percent = 100 if state in (Migration.SUCCESS, Migration.COPIED, Migration.COMPLETING) else known.get('percent', 0)
    done, total = known.get('bytes_done'), known.get('bytes_total')
    took = max(time.time() - data.get('phase_one_began', time.time()), 0.001)
    rate = done / took if done else None
    return {'total_progress': percent, 'phase': 2 if data.get('cut') else 1, 'bytes_done': done, 'bytes_total': total,
            'bytes_per_second': int(rate) if rate else None,
            'seconds_left': int((total - done) / rate) if rate and total is not None and percent < 100 else None}
