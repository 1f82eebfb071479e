# SPDX-License-Identifier: Apache-2.0
"""What is not in a terminal state, why, and what is wrong with it; and how it is mended beside running services.

``look`` only reads. ``mend`` does what a finding offers, each in a transaction of its own that changes nothing if the
thing moved meanwhile: work is freed, woken or begun again, so that a worker brings the resource to its end; where
nothing can do that, the failed status of the verb is written.
"""

from manila_lite.operations.doctor.examine import look, mend
from manila_lite.operations.doctor.finding import Desk, Finding

__all__ = ['Desk', 'Finding', 'look', 'mend']
