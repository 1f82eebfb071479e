# SPDX-License-Identifier: Apache-2.0
"""Run each row of the tables of :mod:`wire`: requests as the clients send them, and answers as they read them."""

import json
import pathlib
import re
import string
import time

import testscenarios
from oslo_utils import uuidutils

from manila_lite import tests
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.clients import wire
from manila_lite.tests.functional.clients.exchange import ABSENT


def find(document, path):
    """Return the value at a path such as ``a.0.b`` of an answer, or ABSENT."""
    for part in path.split('.'):
        try:
            document = document[int(part) if isinstance(document, list) else part]
        except (KeyError, IndexError, TypeError, ValueError):
            return ABSENT
    return document


def fits(value, wanted):
    """Say whether a value is as wanted: equal, of a type, or matching a pattern."""
    if isinstance(wanted, re.Pattern):
        return isinstance(value, str) and bool(wanted.fullmatch(value))
    if isinstance(wanted, (type, tuple)):
        return isinstance(value, wanted)
    return value is wanted if wanted is ABSENT else value == wanted


class Wire(testscenarios.WithScenarios, base.ServiceTest):
    scenarios = [(row.name, {'row': row}) for row in (*wire.HANDSHAKE, *wire.TRAPS, *wire.FAILURES)]
    EXTRA = '[oslo_middleware]\nenable_proxy_headers_parsing = true\n[quota]\nshares = -1\ngigabytes = -1\nsnapshots = 1\n'

    def test_requests_get_the_expected_answers(self):
        self.assertTrue(self.row.asks or self.row.elsewhere)
        if self.row.elsewhere:
            module, name = self.row.elsewhere.split(':')
            path = pathlib.Path(tests.__file__).parent.joinpath(*module.split('.')).with_suffix('.py')
            self.assertIn(f' def {name}(', path.read_text())
        known = {
            'project': uuidutils.generate_uuid(dashed=False),
            'unique': uuidutils.generate_uuid(),
            'public': 'https://cloud.example.org/share',
        }
        for ask in self.row.asks:
            self.ask(ask, known)

    def ask(self, ask, known):
        end = time.monotonic() + waiting.LIMIT
        while True:
            status, document, headers = self.send(ask, known)
            said = f'{ask.method} {ask.path} at {ask.version}: {status} {document}'
            self.assertIn(status, ask.status if isinstance(ask.status, tuple) else (ask.status,), said)
            first = find(document, next(iter(ask.holds), ''))
            if not ask.through or fits(first, *list(ask.holds.values())[:1]):
                break
            self.assertIn(first, ask.through, said)
            self.assertLess(time.monotonic(), end, said)
            time.sleep(0.02)  # sleeps: between two requests; each answer is checked
        for path, value in ask.holds.items():
            wanted = string.Template(value).safe_substitute(known) if isinstance(value, str) else value
            self.assertTrue(fits(find(document, path), wanted), f'{path} is not {wanted}: {said}')
        for name, pattern in ask.says.items():
            self.assertRegex(headers.get(name, ''), f'^{pattern}$', said)
        known.update({name: find(document, path) for name, path in ask.keeps.items()})

    def send(self, ask, known):
        body = (
            None
            if ask.body is None
            else string.Template(json.dumps(ask.body)).safe_substitute(known).encode()
        )
        sent = {
            name: string.Template(value).safe_substitute(known).replace('{version}', ask.version or '')
            for name, value in ask.headers.items()
        }
        sent |= {
            'X-Auth-Token': f'{ask.roles}:{known["project"]}:{ask.roles}',
            'Content-Type': 'application/json',
        }
        if ask.version:
            sent['X-OpenStack-Manila-API-Version'] = ask.version
        answer = self.service.app.request(
            ask.prefix + string.Template(ask.path).safe_substitute(known),
            method=ask.method,
            body=body or b'',
            headers=sent,
            expect_errors=True,
        )
        return answer.status_int, answer.json if answer.body else None, answer.headers
