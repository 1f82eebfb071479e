# SPDX-License-Identifier: Apache-2.0
"""Backups: their destinations, and the progress of a copy."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class BackupType:
    """The destination of backups: an export of the operator's, and its mount options.

    ``export`` is empty if a driver needs none. ``apparent_ratio``: limit of the apparent size of files (with holes), as
    a multiple of the share's capacity; 0: no limit.
    """

    name: str
    export: str = ''
    proto: str = 'nfs'
    options: str = ''
    apparent_ratio: float = 0


@dataclasses.dataclass(frozen=True)
class Backup:
    """A copy of a share's data. ``size`` in GiB is that of the share; ``host`` is the backend that made the copy."""

    id: str
    size: int
    type: BackupType
    host: str
    project_id: str


@dataclasses.dataclass(frozen=True)
class BackupProgress:
    """The progress of a copy to or from a backup; at 100 it is complete."""

    percent: int
