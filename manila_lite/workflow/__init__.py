# SPDX-License-Identifier: Apache-2.0
"""Begin and end of long work, shared by the API, the scheduler, the manager and the doctor; one file per resource."""
