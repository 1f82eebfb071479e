# SPDX-License-Identifier: Apache-2.0
"""Operations that wait until a backend has copied a whole share."""

import dataclasses

from manila_lite.operation_data.base import OperationData


@dataclasses.dataclass(kw_only=True)
class Copying(OperationData):
    """``looks``: how often the operation has looked whether the copy is complete."""

    looks: int = 0
