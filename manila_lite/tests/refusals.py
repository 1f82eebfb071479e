# SPDX-License-Identifier: Apache-2.0
"""Note the refusals of a test run: the lines of ``actions/`` that refused, and the answers of the APIs.

If $MANILA_LITE_TEST_REFUSALS names a folder, each process of tests has a file there, with a line of JSON for each
refusal in a reply of the API. ``tools/refusals.py`` reads them. If $MANILA_LITE_TEST_SENTENCES names a folder, there is a
line for each different answer with an error; ``tools/refusal_sentences.py`` reads them.
"""

import json
import os
import pathlib
import re
import sys
import threading
import traceback
import unittest

from manila_lite.api.http import app, faults

#: Names of folders for the notes.
FOLDER, SENTENCES = 'MANILA_LITE_TEST_REFUSALS', 'MANILA_LITE_TEST_SENTENCES'
#: Roles of callers, the strongest first.
ROLES = ('admin', 'service', 'member', 'reader')
_ACTIONS = pathlib.Path(__file__).resolve().parents[1] / 'actions'
_known = set()


def listen():
    """Begin to write the notes that the environment asks for."""
    if os.environ.get(FOLDER):
        _listen_to_guards()
    if os.environ.get(SENTENCES):
        _listen_to_answers()


def _listen_to_guards():
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
                said = {'file': path.name, 'line': line, 'status': status, 'code': getattr(error, 'code', ''),
                        'message': str(error), 'test': present_test()}
                _write(FOLDER, said, *(said[name] for name in ('file', 'line', 'status', 'code', 'test')))
        source = source.__context__


def _write(folder, said, *key):
    if (folder, *key) not in _known:
        _known.add((folder, *key))
        with pathlib.Path(os.environ[folder], str(os.getpid())).open('a') as notes:
            notes.write(json.dumps(said) + '\n')


# Answers -----------------------------------------------------------------------------------------------

_PLACEHOLDERS = (
    (re.compile(r'\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b'), 'ID'),
    (re.compile(r'(?<![\w./:-])\d+(?![\w/:-]|\.\d)'), 'N'))


def _listen_to_answers():
    make = app.make

    def making(*more, **named):
        return _noting(make(*more, **named))
    app.make = making


def _noting(inner):
    """Return the application with a note for each answer that is an error."""
    def wrapped(environ, start_response):
        status = []

        def start(line, *more):
            status.append(int(line.split()[0]))
            return start_response(line, *more)
        chunks = inner(environ, start)
        if not status or status[-1] < 400:
            return chunks
        chunks = list(chunks)
        note_answer(status[-1], b''.join(chunks), environ)
        return chunks
    return wrapped


def note_answer(status, body, environ):
    """Note, once, an answer with an error code. The caller is as the authentication left it in the request."""
    try:
        fault, = json.loads(body).values()
        said = {'code': fault['reason'], 'caller': 'none' if status == 401 else caller(environ), 'status': status,
                'message': general(fault['message']), 'next': fault['next']}
    except (ValueError, AttributeError, KeyError, TypeError):
        return
    _write(SENTENCES, said, *said.values())


def caller(environ):
    """Return the strongest role of the caller; 'other' for one without such a role, and 'none' without a login."""
    roles = environ.get('HTTP_X_ROLES', '')
    strongest = next((role for role in ROLES if role in roles.split(',')), 'other')
    return strongest if roles else 'none'


def general(message):
    """Return the message with placeholders for ids and numbers."""
    for pattern, name in _PLACEHOLDERS:
        message = pattern.sub(name, message)
    return message


def present_test():
    """Return the name of the test in the main thread; '' if none runs."""
    frame = sys._current_frames().get(threading.main_thread().ident)
    while frame:
        found = frame.f_locals.get('self')
        if isinstance(found, unittest.TestCase):
            return found.id()
        frame = frame.f_back
    return ''
