# SPDX-License-Identifier: Apache-2.0
"""The data that operations carry from step to step: one dataclass for each kind, in the file of its resource.

The stored JSON is read by services of the release before and of the next one, too: see ``base.OperationData``.
"""

from manila_lite.operation_data.base import ALWAYS, Failure, OperationData
from manila_lite.operation_data.untyped import Untyped

__all__ = ['ALWAYS', 'Failure', 'OperationData', 'Untyped']
