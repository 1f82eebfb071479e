# SPDX-License-Identifier: Apache-2.0
"""Process that stops a server until the process is killed.

Arguments: the pid of the server, and the directory whose turn is taken. It prints "still" once the server is stopped.
"""

import sys
import time
from pathlib import Path

import psutil

from manila_lite.drivers.linux.protocols import quiesce


def main():
    with quiesce.turn(Path(sys.argv[2])) as turn, quiesce.still([psutil.Process(int(sys.argv[1]))], turn):
        sys.stdout.write('still\n')
        sys.stdout.flush()
        time.sleep(600)  # sleeps: until it is killed


if __name__ == '__main__':
    main()
