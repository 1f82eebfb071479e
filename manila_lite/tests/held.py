# SPDX-License-Identifier: Apache-2.0
"""Commands of which one process holds its interpreter when a file appears: no other thread of it runs again.

The file is named by ``HOLD`` in the environment; ``SILENT`` has the seconds until the watchdog ends the process.
"""

import os
import re
import threading
import time
from pathlib import Path

from manila_lite.cmd import all_in_one, watchdog
from manila_lite.cmd import api as command


def api():
    """Run ``manila-api``; one of its children holds."""
    os.register_at_fork(after_in_child=_start)
    watchdog.SILENT = float(os.environ.get('SILENT', watchdog.SILENT))
    return command.main()


def lite():
    """Run ``manila-lite``."""
    _start()
    return all_in_one.main()


def _start():
    threading.Thread(target=_hold, daemon=True).start()


def _hold():
    asked = Path(os.environ['HOLD'])
    while not asked.exists():
        time.sleep(0.05)  # sleeps: between two looks for the file
    asked.rename(f'{asked}-{os.getpid()}')
    re.match('(a|a)*b', 'a' * 99)  # matches for years, without a moment for others
