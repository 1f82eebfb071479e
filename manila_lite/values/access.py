# SPDX-License-Identifier: Apache-2.0
"""Export locations and access rules."""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class ExportLocation:
    """A path that clients mount. ``preferred`` ones are listed first; the order is part of the API."""

    path: str
    preferred: bool = False
    is_admin_only: bool = False
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class AccessRule:
    """One access rule: ``type`` is ip, user, cert or cephx; ``to`` an address, CIDR or name; ``level`` rw or ro."""

    id: str
    type: str
    to: str
    level: str


@dataclasses.dataclass(frozen=True)
class RuleResult:
    """The result for one rule: in force, or refused with the reason in ``error``."""

    error: str | None = None
    access_key: str | None = None
