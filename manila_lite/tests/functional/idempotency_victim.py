# SPDX-License-Identifier: Apache-2.0
"""API process that dies while it answers.

Usage: ``idempotency_victim CONFIG PLACE HEADERS BODY``. The process sends the POST to /v2/shares itself.
"""

import json
import os
import signal
import sys

import sqlalchemy as sa
import webtest

from manila_lite.api.http import app
from manila_lite.cmd import setup


def main():
    """Send the request and die at ``PLACE``. An exit status of 0 means that the process survived."""
    config, place, headers, body = sys.argv[1:]
    services = setup.services(setup.configure([f'--config-file={config}']))
    client = webtest.TestApp(app.make(services))
    PLACES[place](services)
    client.post('/v2/shares', body.encode(), headers=json.loads(headers), expect_errors=True)


def _die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def _in_work(services):
    """Die when the key is claimed and the share is inserted in part."""

    def saw(conn, cursor, statement, *_):
        if statement.startswith('INSERT INTO shares '):
            _die()

    sa.event.listen(services.db.engine, 'before_cursor_execute', saw)


def _before_commit(services):
    """Die before the commit: the share and the answer are in the open transaction."""
    kept = []

    def saw(conn, cursor, statement, *_):
        kept.extend([statement] if statement.startswith('INSERT INTO operations ') else [])

    sa.event.listen(services.db.engine, 'before_cursor_execute', saw)
    sa.event.listen(services.db.engine, 'commit', lambda conn: kept and _die())


def _after_commit(services):
    """Die after the commit, before the workers are told of the share."""
    services.bus.wake = _die


PLACES = {'in the work': _in_work, 'before the commit': _before_commit, 'after the commit': _after_commit}
