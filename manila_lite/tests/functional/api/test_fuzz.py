# SPDX-License-Identifier: Apache-2.0
"""No input makes the API answer 5xx, or with anything that its own OpenAPI document does not describe.

Every run tries a few inputs of each kind: which, goes by the number of commits. ``MANILA_LITE_TEST_FUZZ=20`` tries twenty
times as many, which differ.
"""

import io
import json
import os
import wsgiref.util
import zlib

import hypothesis
import schemathesis
from hypothesis import strategies
from schemathesis import checks
from schemathesis.core import failures
from schemathesis.specs.openapi import checks as conformance

from manila_lite.api import versions
from manila_lite.api.framework import fields
from manila_lite.api.http import faults, openapi
from manila_lite.api.v2 import CALLS
from manila_lite.tests import turns
from manila_lite.tests.functional import base, world
from manila_lite.tests.services.places import backend

CHECKS = [
    checks.not_a_server_error,
    conformance.status_code_conformance,
    conformance.content_type_conformance,
    conformance.response_schema_conformance,
    conformance.response_headers_conformance,
]


#: Validator that raises an exception for a document that is no fault. Compiled once: that takes longer than a request.
FAULT = fields.compiled(faults.SCHEMA)
#: Factor for the number of tries.
MUCH = int(os.environ.get('MANILA_LITE_TEST_FUZZ', '1'))
#: Versions whose documents are tried: the oldest, one in the middle, the newest; and the tries of each request.
VERSIONS = {versions.MIN: 2, 45: 2, versions.MAX: 6}


def bounded(examples):
    """Return settings with which every run tries the same inputs, unless the factor is raised."""
    return hypothesis.settings(
        max_examples=examples * MUCH,
        derandomize=MUCH == 1,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )


class Fuzz(base.ServiceTest):
    """Resources of every kind exist; then the workers stop, so that only requests change them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        owner = base.Api(
            cls.service.app, 'u', 'admin', 'member,reader'
        )  # the project of a caller without a token
        cls.world = world.make(cls.service, cls.admin, owner)
        cls.service.stop()


class Described(Fuzz):
    """Requests generated from the document, valid and invalid, half of them about existing resources.

    To make the requests takes longer than to answer them, so each has its turn at one version.
    """

    def fuzz(self, version):
        schema = schemathesis.openapi.from_dict(openapi.document(version))
        schema.app = self.as_admin(version)
        operations = [result.ok() for result in schema.get_all_operations()]
        self.assertGreater(len(operations), 40)
        mine = [
            operation for operation in operations if MUCH > 1 or self.version_of(operation) in (version, None)
        ]
        refused = [text for operation in mine if (text := self.attempt(operation, VERSIONS[version]))]
        self.assertEqual([], refused, '\n'.join(refused))

    @staticmethod
    def version_of(operation):
        """Return the version at which this run tries a request; None for all."""
        if not turns.TURN:
            return None
        return [*VERSIONS][(zlib.crc32(operation.label.encode()) + turns.TURN) % len(VERSIONS)]

    def as_admin(self, version):
        """Return the application with a fixed version and caller, whatever the headers of a request are."""

        def wrapped(environ, start_response):
            environ |= {
                'HTTP_X_OPENSTACK_MANILA_API_VERSION': versions.show(version),
                'HTTP_X_AUTH_TOKEN': '',
            }
            return self.service.wsgi(environ, start_response)

        return wrapped

    def attempt(self, operation, examples):
        right = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
        wrong = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

        @bounded(examples)
        @hypothesis.given(case=right | wrong, real=strategies.booleans())
        def once(case, real):
            if real:
                case.path_parameters = self.real(case.path_parameters)
                if isinstance(case.body, dict):
                    case.body = {
                        key: self.real(entity) if isinstance(entity, dict) else entity
                        for key, entity in case.body.items()
                    }
            case.call_and_validate(checks=CHECKS)

        try:
            once()
        except failures.FailureGroup as found:
            return f'{operation.label}: {found}'
        return None

    def real(self, values):
        """Return the values with the ids of existing resources."""
        return {
            name: self.world.get(name) or self.world.get(world.ALSO.get(name, ''), value)
            for name, value in (values or {}).items()
        }

    def test_the_oldest_version_answers_as_described(self):
        self.fuzz(versions.MIN)

    def test_a_version_in_the_middle_answers_as_described(self):
        self.fuzz(45)

    def test_the_newest_version_answers_as_described(self):
        self.fuzz(versions.MAX)


DEEP = 3000
#: JSON values that no field expects, as text: some cannot be written from Python values.
HOSTILE = [
    'null',
    'true',
    '0',
    '-1',
    '1',
    '2147483647',
    '2147483648',
    '-2147483649',
    '9223372036854775808',
    '1' + '0' * 400,
    '1.5',
    '1e400',
    '-0.0',
    '""',
    '" "',
    '"a"',
    '"None"',
    '"1"',
    '"-1"',
    '"1e9"',
    '"\\u0000"',
    '"\\ud800"',
    '"\\n"',
    '"%"',
    '"_"',
    '"\\\\"',
    '"../.."',
    '"\'"',
    '"\U0001f4a9"',
    '"\\u202e"',
    '"' + 'x' * 256 + '"',
    '"' + 'x' * 20000 + '"',
    '"' + '9' * 5000 + '"',
    '"9999-12-31T23:59:59.999999"',
    '"0000-00-00T00:00:00Z"',
    '"0001-01-01T00:00:00+23:59"',
    '"2026-W01"',
    '"<in> a"',
    '[]',
    '[null]',
    '[[], {}]',
    '["a", 1]',
    '{}',
    '{"": ""}',
    '{"a": null}',
    '{"a": {"a": []}}',
    '{"a": "b", "a": "c"}',
    '{"' + 'k' * 300 + '": "v"}',
    '{"a": "' + 'v' * 2000 + '"}',
    '{"a\\u0000": "b"}',
    '{"\\ud800": "b"}',
    '[' * DEEP + ']' * DEEP,
    '{"a":' * DEEP + '1' + '}' * DEEP,
    'NaN',
    'Infinity',
]
#: Each place gets every twelfth value of these lists, the next place the values after those: enough, as there are many
#: places. With the next commit it gets others.
#: Databases differ only in how they handle a value, which needs fewer places.
SHARE = max(1, (12 if backend() == 'sqlite' else 18) // MUCH)
STRINGS = [json.loads(text).encode('utf-8', 'surrogatepass') for text in HOSTILE if text.startswith('"')]
#: Invalid UTF-8, path elements, and numbers.
IN_PATHS = [
    *STRINGS,
    b'\xff',
    b'.',
    b'..',
    b'%00',
    b'%2e%2e',
    b'..%2f..',
    b'%252e',
    b'a%2Fb',
    b';a=b',
    b'\xc0\xae',
    b'0',
    b'12',
]
IN_QUERIES = [
    *STRINGS,
    b'\xff\xfe',
    b'18446744073709551616',
    b'9223372036854775807',
    b'__import__("os").getcwd()',
    b"{'a': 'b'}",
    b"{'a': [1]}",
    b'{"a": {"b": 1}}',
    b"{'a': 1e999}",
    b'9' * 5000,
    b'(' * 3000,
    b"{'a': 'b', 'a': 'c'}",
    b'[1, 2]',
    b'{',
    b"'a': 'b'",
]


class Hostile(Fuzz):
    """Requests that no client would make."""

    def send(self, method, path, query='', body=b'', **environ):
        """Send raw bytes (as latin-1 text, the form of WSGI); check the status and the format of the answer."""
        sent = {
            'REQUEST_METHOD': method,
            'PATH_INFO': path,
            'QUERY_STRING': query,
            'wsgi.input': io.BytesIO(body),
            'CONTENT_LENGTH': str(len(body)),
            'CONTENT_TYPE': 'application/json',
            'HTTP_X_OPENSTACK_MANILA_API_VERSION': '2.99',
            **environ,
        }
        wsgiref.util.setup_testing_defaults(sent)
        begun = []
        text = b''.join(
            self.service.wsgi(
                sent, lambda status, headers, exc_info=None: begun.append((status, dict(headers)))
            )
        )
        status, headers = int(begun[-1][0][:3]), begun[-1][1]
        said = (method, path[:200], query[:200], body[:200], environ, status, text[:300])
        self.assertLess(status, 500, said)
        if status >= 400 and method != 'HEAD':
            self.assertTrue(headers['Content-Type'].startswith('application/json'), said)
            fault = json.loads(text)
            FAULT(fault)
            self.assertEqual([status], [inner['code'] for inner in fault.values()], said)
            self.assertNotEqual('', next(iter(fault.values()))['message'], said)
        return status, text

    def path(self, op):
        return '/v2' + op.path.format_map(self.world)

    def ops(self):
        return [op for op in CALLS if op.lives(versions.MAX)]

    def test_hostile_bodies_cause_no_server_error(self):
        for number, op in enumerate(self.ops()):
            for text in HOSTILE[(number + turns.TURN) % SHARE :: SHARE]:
                self.send(op.method, self.path(op), body=text.encode())

    def test_hostile_body_fields_cause_no_server_error(self):
        """Put hostile values into each field in turn, with valid values in the others."""
        places = [
            (op, name)
            for op in self.ops()
            if (entity := op.body_at(versions.MAX)) is not None
            for name in (None, *(field.name for field in fields.fields_at(entity.fields, versions.MAX)))
        ]
        for number, (op, name) in enumerate(places):
            for text in HOSTILE[(number + turns.TURN) % SHARE :: SHARE]:
                self.send(op.method, self.path(op), body=planted(op, self.world, name, text))

    def test_hostile_query_parameters_cause_no_server_error(self):
        # A field that several lists share is read by the same code, except sort_key: each list has its own columns.
        places = {
            (field if field.name != 'sort_key' else op): (op, field.name)
            for op in self.ops()
            for field in fields.fields_at(op.query, versions.MAX)
        }.values()
        for number, (op, name) in enumerate(places):
            for raw in IN_QUERIES[(number + turns.TURN) % SHARE :: SHARE]:
                self.send(
                    op.method, self.path(op), f'{name}=' + ''.join(f'%{byte:02x}' for byte in raw[:4000])
                )
            self.send(
                op.method, self.path(op), (f'{name}=\xff', name, f'{name}&{name}=1&{name}=2')[number % 3]
            )

    def test_hostile_path_parameters_cause_no_server_error(self):
        places = [
            (op, part.strip('{}')) for op in self.ops() for part in op.path.split('/') if part.startswith('{')
        ]
        for number, (op, name) in enumerate(places):
            body = world.body(op, versions.MAX, self.world)
            text = b'' if body is None else json.dumps(body).encode()
            for value in IN_PATHS[(number + turns.TURN) % SHARE :: SHARE]:
                part = value.decode('latin-1')
                self.send(op.method, '/v2' + op.path.format_map({**self.world, name: part}), body=text)

    @bounded(200 if backend() == 'sqlite' else 100)
    @hypothesis.given(strategies.data())
    def test_arbitrary_bytes_cause_no_server_error(self, data):
        """Send any bytes in any part of a request."""
        raw = strategies.text(strategies.characters(max_codepoint=255), max_size=40)
        op = data.draw(strategies.sampled_from(self.ops()))
        path = data.draw(
            strategies.sampled_from([self.path(op), f'/v2/other{op.path}', op.path])
            | raw.map('/v2/'.__add__)
            | raw
        )
        length = data.draw(
            strategies.sampled_from([None, None, None, '', '-1', '0', '1', '99999999999', 'x', '1 2', '\xb2'])
        )
        header = (
            strategies.sampled_from(
                [
                    '2.0',
                    '2.7',
                    '2.99',
                    '2.100',
                    '3.0',
                    '2',
                    '',
                    'latest',
                    '2.٣',
                    '2.-1',
                    '99999999999999999999.1',
                    '2.0,2.1',
                ]
            )
            | raw
        )
        environ = {
            'HTTP_X_OPENSTACK_MANILA_API_VERSION': data.draw(header),
            'CONTENT_TYPE': data.draw(
                strategies.sampled_from(
                    [
                        'application/json',
                        '',
                        'text/plain',
                        'multipart/form-data',
                        'application/json; charset=nonsense',
                    ]
                )
                | raw
            ),
            'HTTP_X_AUTH_TOKEN': data.draw(
                strategies.sampled_from(['', ':', '::', 'u:p:', 'u:p:admin:x']) | raw
            ),
            'HTTP_ACCEPT': data.draw(raw),
            'HTTP_X_OPENSTACK_REQUEST_ID': data.draw(raw),
            'HTTP_X_FORWARDED_PROTO': data.draw(strategies.sampled_from(['http', 'https', 'x', ''])),
            'HTTP_HOST': data.draw(
                strategies.sampled_from(['localhost:80', '', '[::1]:80', 'a', 'a:b', ':', 'a\xff'])
            ),
        }
        if length is not None:
            environ['CONTENT_LENGTH'] = length
        method = data.draw(
            strategies.sampled_from(
                ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'X']
            )
        )
        body = data.draw(strategies.binary(max_size=60) | strategies.sampled_from(HOSTILE).map(str.encode))
        self.send(method, path, data.draw(raw), body, **environ)


def planted(op, found, name, text):
    """Return a document, as bytes, with this text in one field, or without a name as the whole entity."""
    mark = '@@here@@'
    return (
        json.dumps(world.planted(op, versions.MAX, found, name, mark)).replace(f'"{mark}"', text, 1).encode()
    )
