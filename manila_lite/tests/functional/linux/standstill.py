# SPDX-License-Identifier: Apache-2.0
"""A process that makes a server stand still until it is killed. Argument: the server's pid. It says when it has."""

import sys
import time

import psutil

from manila_lite.drivers.linux import moment


def main():
    with moment.still([psutil.Process(int(sys.argv[1]))]):
        sys.stdout.write('still\n')
        sys.stdout.flush()
        time.sleep(600)


if __name__ == '__main__':
    main()
