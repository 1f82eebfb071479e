# SPDX-License-Identifier: Apache-2.0
"""Start of servers that are for one scenario alone. They end with this process in any case."""

from manila_lite.tests.services.daemon import Broken, Missing
from scenarios.service import Trouble


def start(what, server, there):
    """Start a server, which runs until the stack ``there`` is closed. ``what``: its name in messages."""
    try:
        server.setUp()
    except Exception as bad:
        why = [one[1] for one in bad.args if isinstance(one, tuple) and isinstance(one[1], Missing | Broken)]
        raise Trouble(f'{what}: {why[0] if why else bad}') from bad
    there.callback(server.cleanUp)
