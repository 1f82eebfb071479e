# SPDX-License-Identifier: Apache-2.0
"""Operations at the backend that a share or a share server leaves. ``READDRESS`` and the server's ``CLOSE`` carry nothing.

The migrations themselves, their checks and the deletions of what they leave have no class yet.
"""

import dataclasses

from manila_lite.operation_data.base import OperationData


@dataclasses.dataclass(kw_only=True)
class ApplyServerRules(OperationData):
    """``server_migration.RULES``. ``shut_out``: the share instances that admit the host no more that copied them."""

    shut_out: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(kw_only=True)
class CloseShare(OperationData):
    """``share_migration.CLOSE``: the exports of this instance of the share end."""

    instance: str
