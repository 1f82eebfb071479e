# SPDX-License-Identifier: Apache-2.0
"""The doctor: it finds resources in no terminal state, says what is wrong with them, and mends beside running services.

``list_findings`` only reads. ``mend`` does what a finding offers, each in a transaction of its own that changes nothing if the
resource moved meanwhile. An operation is freed, woken or begun again, so that a worker brings the resource to its end.
Where no operation can do that, the failed status of the verb is written.
"""

from manila_lite.doctor.examine import list_findings, mend
from manila_lite.doctor.finding import Finding, RepairContext

__all__ = ['Finding', 'RepairContext', 'list_findings', 'mend']
