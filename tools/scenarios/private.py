# SPDX-License-Identifier: Apache-2.0
"""Start of servers that are for one scenario alone. They end with this process in any case."""

from scenarios.service import Trouble


def start(what, server, there):
    """Start a server, which runs until the stack ``there`` is closed. ``what``: its name in messages."""
    try:
        server.setUp()
    except Exception as bad:
        # fixtures puts the exception into a tuple, with those of the clean-up after it.
        why = next((one[1] for one in bad.args if isinstance(one, tuple)), bad)
        raise Trouble(f'{what}: {why}') from bad
    there.callback(server.cleanUp)
