# SPDX-License-Identifier: Apache-2.0
"""Export locations and access rules."""

import dataclasses
from collections.abc import Mapping

#: The metadata of an export location with the options of mount(8) that each client must give, such as ``port=2050``. Also the
#: capability of a pool with these options, by protocol.
MOUNT_OPTIONS = 'mount_options'
#: The metadata of an export location with the version of its address: 4 or 6.
IP_VERSION = 'ip_version'


@dataclasses.dataclass(frozen=True)
class ExportLocation:
    """A path that clients mount. ``preferred`` ones are listed first; the order is part of the API."""

    path: str
    preferred: bool = False
    is_admin_only: bool = False
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def mount_options(self) -> str:
        """The options of mount(8) that each client must give, or ''."""
        return self.metadata.get(MOUNT_OPTIONS, '')


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
