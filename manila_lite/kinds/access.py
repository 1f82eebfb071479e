# SPDX-License-Identifier: Apache-2.0
"""Where a share mounts, and who may reach it."""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class ExportLocation:
    """Where a share mounts. ``preferred`` ones are listed first; the order is part of the API."""

    path: str
    preferred: bool = False
    is_admin_only: bool = False
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class AccessRule:
    """One grant: ``type`` is ip, user, cert or cephx; ``to`` an address, CIDR or name; ``level`` rw or ro."""

    id: str
    type: str
    to: str
    level: str


@dataclasses.dataclass(frozen=True)
class RuleResult:
    """What became of one rule: in force, or refused with the reason in ``error``."""

    error: str | None = None
    access_key: str | None = None
