# SPDX-License-Identifier: Apache-2.0
"""Backups: where they go, and how far a copy is."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class BackupType:
    """Where backups go: an export of the operator's, and how it is mounted. ``export`` is empty where a driver needs none.

    ``apparent_ratio``: how many times what a share can hold its files may say that they hold, with holes; 0: any number.
    """

    name: str
    export: str = ''
    proto: str = 'nfs'
    options: str = ''
    apparent_ratio: float = 0


@dataclasses.dataclass(frozen=True)
class Backup:
    """A copy of what a share held. ``size`` in GiB is that of the share; ``host`` is the backend that made it."""

    id: str
    size: int
    type: BackupType
    host: str
    project_id: str


@dataclasses.dataclass(frozen=True)
class BackupProgress:
    """How far a copy to or from a backup is; 100: it is complete."""

    percent: int
