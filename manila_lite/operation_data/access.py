# SPDX-License-Identifier: Apache-2.0
"""Operations that apply the access rules of shares and snapshots."""

import dataclasses
from collections.abc import Mapping, Sequence

from manila_lite.operation_data.base import OperationData
from manila_lite.operation_data.export_locations import Exported
from manila_lite.values import RuleResult


def _load_results(stored: Mapping[str, Sequence[str | None]]) -> dict[str, RuleResult]:
    return {rule_id: RuleResult(*result) for rule_id, result in stored.items()}


def _dump_results(results: Mapping[str, RuleResult]) -> dict[str, list[str | None]]:
    return {rule_id: [result.error, result.access_key] for rule_id, result in results.items()}


@dataclasses.dataclass(kw_only=True)
class ApplyRules(OperationData):
    """``access.SYNC``. ``quiet``: no user asked for it. ``replicated``: the share can have replicas.

    ``seen``: the ids of the rules that this run is for. ``results``: by the ids of rules, with encrypted keys.
    ``shut_out``: the ids of copies whose clients the backend no longer admits.
    """

    quiet: bool = False
    replicated: bool = False
    seen: list[str] = dataclasses.field(default_factory=list)
    results: dict[str, RuleResult] = dataclasses.field(
        default_factory=dict, metadata={'load': _load_results, 'dump': _dump_results}
    )
    shut_out: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(kw_only=True)
class ApplySnapshotRules(Exported):
    """``snapshot_access.KIND``. ``seen``: as above. ``refused``: why rules are refused, by their ids."""

    seen: list[str] = dataclasses.field(default_factory=list)
    refused: dict[str, str] = dataclasses.field(default_factory=dict)
