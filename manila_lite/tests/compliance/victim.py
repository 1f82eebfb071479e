# SPDX-License-Identifier: Apache-2.0
"""A process that makes one driver call and is killed during it. Arguments: driver, config file, state dir."""

import pickle
import sys

from manila_lite.tests.compliance import base


def main() -> None:
    method, args = pickle.load(sys.stdin.buffer)
    driver = base.make_driver(*sys.argv[1:])
    driver.setup()
    sys.stdout.write('begun\n')
    sys.stdout.flush()
    getattr(driver, method)(*args)


if __name__ == '__main__':
    main()
