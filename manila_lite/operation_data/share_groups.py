# SPDX-License-Identifier: Apache-2.0
"""Operations on share groups and their snapshots. Those that are not here (deletions) carry nothing of their own."""

import dataclasses

from manila_lite.operation_data.base import ALWAYS, OperationData


@dataclasses.dataclass(kw_only=True)
class CreateGroup(OperationData):
    """``share_group.create``. ``zone`` is the name of a zone. ``named_subnets``: as for a share."""

    zone: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    named_subnets: bool = False


@dataclasses.dataclass(kw_only=True)
class CreateGroupSnapshot(OperationData):
    """``share_group_snapshot.create``. ``locations``: where the members are, for their driver, by their ids."""

    locations: dict[str, str | None] = dataclasses.field(default_factory=dict)
