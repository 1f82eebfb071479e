# SPDX-License-Identifier: Apache-2.0
"""Run ``manila-manage`` and send it a signal at an SQL statement.

Usage: ``copy_victim SIGNAL BEGINNING WORD...``; the words are the command's own.
"""

import os
import signal
import sys

import sqlalchemy as sa

from manila_lite.cmd import manage


def main():
    """Run the command, with a signal when a statement starts with ``BEGINNING``. ``SIGNAL`` is a name."""
    signo, beginning = signal.Signals[sys.argv.pop(1)], sys.argv.pop(1)

    def saw(conn, cursor, statement, *_):
        if statement.strip().startswith(beginning):
            os.kill(os.getpid(), signo)

    # A process that a script starts in the background ignores Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sa.event.listen(sa.engine.Engine, 'before_cursor_execute', saw)
    return manage.main()
