# SPDX-License-Identifier: Apache-2.0
"""Entry points. Importing this room settles that the process runs on threads; it must be the first import of each."""

import sys

# oslo.service imports eventlet where it is installed, even when told to use threads.
for _name in ('eventlet', 'greenlet'):
    sys.modules[_name] = None       # type: ignore[assignment]

from oslo_service import backend  # noqa: E402  after the block above

backend.init_backend(backend.BackendType.THREADING)
