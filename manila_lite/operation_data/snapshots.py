# SPDX-License-Identifier: Apache-2.0
"""Operations on snapshots. Those that are not here (deletion, unmanage) carry nothing of their own."""

import dataclasses
from typing import Any

from manila_lite.operation_data.base import ALWAYS
from manila_lite.operation_data.export_locations import Exported


@dataclasses.dataclass(kw_only=True)
class CreateSnapshot(Exported):
    """``snapshot.create``. ``location``: where the snapshot is, for its driver."""

    location: str | None = None


@dataclasses.dataclass(kw_only=True)
class ManageSnapshot(CreateSnapshot):
    """``snapshot.manage``. ``size``: as the backend reports it, in GiB."""

    options: dict[str, Any] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    size: int | None = None
