# SPDX-License-Identifier: Apache-2.0
"""Export locations in the data of operations, as drivers report them in a step and the end of the operation stores them."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite.operation_data.base import OperationData
from manila_lite.values import ExportLocation


def load(stored: Iterable[Mapping[str, Any]]) -> list[ExportLocation]:
    """Return the export locations that are stored like this."""
    return [ExportLocation(**location) for location in stored]


def dump(locations: Iterable[ExportLocation]) -> list[dict[str, Any]]:
    """Return export locations as they are stored."""
    return [
        {
            'path': location.path,
            'preferred': location.preferred,
            'is_admin_only': location.is_admin_only,
            'metadata': dict(location.metadata),
        }
        for location in locations
    ]


def _load_all(stored: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[str, list[ExportLocation]]:
    return {resource_id: load(locations) for resource_id, locations in stored.items()}


def _dump_all(exports: Mapping[str, Iterable[ExportLocation]]) -> dict[str, list[dict[str, Any]]]:
    return {resource_id: dump(locations) for resource_id, locations in exports.items()}


#: Metadata of fields with the locations of one resource, and of several by their ids.
LOCATIONS = {'load': load, 'dump': dump}
LOCATIONS_BY_ID = {'load': _load_all, 'dump': _dump_all}


@dataclasses.dataclass(kw_only=True)
class Exported(OperationData):
    """The data of an operation that exports its resource."""

    exports: list[ExportLocation] = dataclasses.field(default_factory=list, metadata=LOCATIONS)
