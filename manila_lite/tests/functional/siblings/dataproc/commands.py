# SPDX-License-Identifier: Apache-2.0
"""Run ``openstack`` commands in the environment with the data-processing client.

Each line of input is a JSON list of words; each line of output has the status, the output and the errors of one
command. All commands run in one process, because the import of the client takes longest.
"""

import contextlib
import io
import json
import logging
import sys

from openstackclient import shell


def run(words):
    """Run one command. Return its status, its output and its error output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = shell.main(words)
        except SystemExit as end:
            status = end.code
    for handler in logging.getLogger().handlers[:]:
        logging.getLogger().removeHandler(handler)
    return status, out.getvalue(), err.getvalue()


if __name__ == '__main__':
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
