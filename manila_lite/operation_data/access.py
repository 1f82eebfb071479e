# SPDX-License-Identifier: Apache-2.0
"""Operations that apply the access rules of shares and snapshots."""

import dataclasses

from manila_lite.operation_data.base import OperationData, by_id
from manila_lite.operation_data.export_locations import Exported
from manila_lite.values import RuleResult

_RESULT = {
    'load': lambda stored: RuleResult(*stored),
    'dump': lambda result: [result.error, result.access_key],
}


@dataclasses.dataclass(kw_only=True)
class ApplyRules(OperationData):
    """``access.SYNC``. ``quiet``: no user asked for it. ``replicated``: the share can have replicas.

    ``seen``: the ids of the rules that this run is for. ``results``: by the ids of rules, with encrypted keys.
    ``shut_out``: the ids of copies whose clients the backend no longer admits.
    """

    quiet: bool = False
    replicated: bool = False
    seen: list[str] = dataclasses.field(default_factory=list)
    results: dict[str, RuleResult] = dataclasses.field(default_factory=dict, metadata=by_id(_RESULT))
    shut_out: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(kw_only=True)
class ApplySnapshotRules(Exported):
    """``snapshot_access.KIND``. ``seen``: as above. ``refused``: why rules are refused, by their ids."""

    seen: list[str] = dataclasses.field(default_factory=list)
    refused: dict[str, str] = dataclasses.field(default_factory=dict)
