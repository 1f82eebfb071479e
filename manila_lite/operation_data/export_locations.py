# SPDX-License-Identifier: Apache-2.0
"""Export locations in the data of operations, as drivers report them in a step and the end of the operation stores them."""

import dataclasses
from typing import Any

from manila_lite.operation_data.base import OperationData, by_id, each, record
from manila_lite.values import ExportLocation


def _dump(location: ExportLocation) -> dict[str, Any]:
    return {
        'path': location.path,
        'preferred': location.preferred,
        'is_admin_only': location.is_admin_only,
        'metadata': dict(location.metadata),
    }


#: Metadata of fields with the locations of one resource, and of several by their ids.
LOCATIONS = each(record(ExportLocation) | {'dump': _dump})
LOCATIONS_BY_ID = by_id(LOCATIONS)


@dataclasses.dataclass(kw_only=True)
class Exported(OperationData):
    """The data of an operation that exports its resource."""

    exports: list[ExportLocation] = dataclasses.field(default_factory=list, metadata=LOCATIONS)
