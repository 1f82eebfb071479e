# SPDX-License-Identifier: Apache-2.0
"""A process that makes a server stand still until it is killed. Arguments: the server's pid, and a directory whose turn it has.
It says when it has.
"""

import sys
import time
from pathlib import Path

import psutil

from manila_lite.drivers.linux import moment


def main():
    with moment.turn(Path(sys.argv[2])) as turn, moment.still([psutil.Process(int(sys.argv[1]))], turn):
        sys.stdout.write('still\n')
        sys.stdout.flush()
        time.sleep(600)     # sleeps: until it is killed


if __name__ == '__main__':
    main()
