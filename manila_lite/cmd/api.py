# SPDX-License-Identifier: Apache-2.0
"""``manila-api``: the API on the built-in server, as ``osapi_share_workers`` processes."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import sys
from collections.abc import Sequence

from manila_lite import encryption
from manila_lite.cmd import preflight, processes, setup
from manila_lite.cmd.all_in_one import Api


def main() -> int:
    """Run until a signal ends it."""
    return setup.run(_main)


def _main(argv: Sequence[str]) -> int:
    conf = setup.configure(argv, program='manila-api')
    api = Api(setup.services(conf))     # refuses a wrong configuration before anything forks
    preflight.check_api(conf)
    encryption.check(conf)
    listener = api.listen()
    return processes.run(conf, 'manila-api', [
        processes.Part(lambda: Api(setup.services(conf), listener=listener), conf.osapi_share_workers, listener)])


if __name__ == '__main__':
    sys.exit(main())
