# SPDX-License-Identifier: Apache-2.0
"""Note which lines of ``actions/`` refused a request, and in which test.

If $MANILA_LITE_TEST_REFUSALS names a folder, each process of tests has a file there, with a line of JSON for each
refusal in a reply of the API. ``tools/refusals.py`` reads them.
"""

import json
import os
import pathlib
import sys
import threading
import traceback
import unittest

from manila_lite.api.http import faults

#: Names a folder for the notes.
FOLDER = 'MANILA_LITE_TEST_REFUSALS'
_ACTIONS = pathlib.Path(__file__).resolve().parents[1] / 'actions'
_known = set()


def listen():
    """Note refusals from now on."""
    answer = faults.response

    def noting(error, *more, **named):
        made = answer(error, *more, **named)
        note(error, made.status_int)
        return made
    faults.response = noting


def note(error, status):
    """Note, once for each test, the lines of ``actions/`` that the error and its causes went through."""
    source = error
    while source is not None:
        for frame, line in traceback.walk_tb(source.__traceback__):
            path = pathlib.Path(frame.f_code.co_filename)
            if path.parent == _ACTIONS:
                _write({'file': path.name, 'line': line, 'status': status, 'code': getattr(error, 'code', ''),
                        'message': str(error), 'test': present_test()})
        source = source.__context__


def _write(said):
    key = (said['file'], said['line'], said['status'], said['code'], said['test'])
    if key not in _known:
        _known.add(key)
        with pathlib.Path(os.environ[FOLDER], str(os.getpid())).open('a') as notes:
            notes.write(json.dumps(said) + '\n')


def present_test():
    """Return the name of the test in the main thread; '' if none runs."""
    frame = sys._current_frames().get(threading.main_thread().ident)
    while frame:
        found = frame.f_locals.get('self')
        if isinstance(found, unittest.TestCase):
            return found.id()
        frame = frame.f_back
    return ''
