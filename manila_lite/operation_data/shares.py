# SPDX-License-Identifier: Apache-2.0
"""Operations on shares. Those that are not here (deletion, unmanage) carry nothing of their own."""

import dataclasses
from typing import Any

from manila_lite.operation_data.base import ALWAYS, OperationData
from manila_lite.operation_data.export_locations import Exported


@dataclasses.dataclass(kw_only=True)
class CreateShare(Exported):
    """``share.create``: ``zone`` is the name of a zone, ``member`` the member of a group snapshot that the share is made from.

    ``zones_of_type``: whether the zones of the share type count. ``named_subnets``: its subnets have to name a network, since
    there was no default one at the request. ``excluded``: why pools failed to create it, by their names.
    """

    hints: dict[str, Any] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    zone: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    member: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    zones_of_type: bool = dataclasses.field(default=True, metadata=ALWAYS)
    named_subnets: bool = False
    excluded: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(kw_only=True)
class NewSize(OperationData):
    """The data of an operation after which the share has another size, in GiB."""

    new_size: int


@dataclasses.dataclass(kw_only=True)
class ResizeShare(NewSize):
    """``share.extend`` and ``share.shrink``, of a share that had ``size`` GiB. ``automatic``: it is nearly full, and grows."""

    size: int
    automatic: bool = False

    @property
    def growth(self) -> int:
        """The GiB that the share grows by."""
        return self.new_size - self.size


@dataclasses.dataclass(kw_only=True)
class RevertShare(NewSize):
    """``share.revert``."""

    snapshot_id: str


@dataclasses.dataclass(kw_only=True)
class ManageShare(Exported):
    """``share.manage``. ``size``: as the backend reports it, in GiB."""

    export_path: str
    options: dict[str, Any]
    size: int | None = None
