# SPDX-License-Identifier: Apache-2.0
"""Runs ``openstack`` commands in the environment with the data-processing client: a JSON list of words on each line of the
input, and on each line of the output status, output and errors of one. One process for all: to import the client takes longer
than all else.
"""

import contextlib
import io
import json
import logging
import sys

from openstackclient import shell


def run(words):
    """Run one command. Returns its status, its output and what it complained of."""
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
