# SPDX-License-Identifier: Apache-2.0
"""Entry points. Importing this package makes the process run on threads; each entry point must import it first."""

import gc
import sys

# A program makes a hundred thousand objects while it is imported, and keeps them. By default the garbage collector looks at the
# newest ones each time that there are 700 more, which was an eighth of a start. While it runs, it looks less often, too.
gc.set_threshold(10_000)

# oslo.service imports eventlet where it is installed, even when told to use threads.
for _name in ('eventlet', 'greenlet'):
    sys.modules[_name] = None  # type: ignore[assignment]

from oslo_service import backend  # noqa: E402  after the block above

backend.register_backend_default_hook(lambda: backend.BackendType.THREADING)  # it is loaded when it is used

from manila_lite.cmd import malloc  # noqa: E402

malloc.share_arenas()
