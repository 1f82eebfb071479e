# SPDX-License-Identifier: Apache-2.0
"""A ``manila-manage`` that gets a signal at a statement: ``copy_victim SIGNAL BEGINNING WORD...``, and its own words."""

import os
import signal
import sys

import sqlalchemy as sa

from manila_lite.cmd import manage


def main():
    """The command ran as far as the signal let it. ``SIGNAL`` is a name."""
    signo, beginning = signal.Signals[sys.argv.pop(1)], sys.argv.pop(1)

    def saw(conn, cursor, statement, *_):
        if statement.strip().startswith(beginning):
            os.kill(os.getpid(), signo)
    # Ctrl-C is nothing to whoever was started in the background of a script.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sa.event.listen(sa.engine.Engine, 'before_cursor_execute', saw)
    return manage.main()
