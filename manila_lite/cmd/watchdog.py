# SPDX-License-Identifier: Apache-2.0
"""The end of a process of which one thread holds the interpreter, so that it is started again.

No other thread of it runs: it answers neither clients nor signals. The timer of ``faulthandler`` needs no interpreter.
"""

import faulthandler
import threading
from collections.abc import Callable

#: Seconds between two settings of the timer, and seconds after which it ends the process.
_BEAT, SILENT = 0.5, 10.0


class Watchdog(threading.Thread):
    """Ends the process, with a print of each thread's stack, if this thread does not run for ``SILENT`` seconds.

    ``beat`` is called as long as it runs.
    """

    def __init__(self, beat: Callable[[], None] = lambda: None):
        super().__init__(name='watchdog', daemon=True)
        self._beat = beat
        self._ended = threading.Event()

    def run(self) -> None:
        """Set the timer again and again, until told to stop."""
        while not self._ended.is_set():
            faulthandler.dump_traceback_later(SILENT, exit=True, file=2)
            self._beat()
            self._ended.wait(_BEAT)

    def stop(self) -> None:
        """Stop the thread. The timer goes on: set another one."""
        self._ended.set()
        self.join()
