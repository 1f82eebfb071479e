# SPDX-License-Identifier: Apache-2.0
"""The language of refusals of values that fields of the contract do not take. ``base.Api`` looks at all other refusals."""

import re
from urllib.parse import urlencode

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.framework import bodies
from manila_lite.api.v2 import CALLS
from manila_lite.tests import plain
from manila_lite.tests.functional import base

#: Values of each kind, of which each field refuses some.
_BAD = (
    None,
    True,
    7,
    -1,
    1.5,
    10**30,
    '',
    ' ',
    'x',
    "it's",
    '1.5',
    '-1',
    '9' * 40,
    'y' * 2000,
    '\x00',
    '\ud800',
    [],
    ['x'],
    [None],
    {},
    {'x': None},
    {'x': {}},
    {'': 'x'},
    {"k'": ['x']},
    '[1',
    "{'a': None}",
    '2026-13-45',
    '2026-01-31T25:00:00',
)


def newest(*rows):
    """Return the last microversion that all of the rows have."""
    return min(versions.minor(row.until) if row.until else versions.MAX for row in rows)


class Refusals(base.ServiceTest):
    PARTS = ()

    def refusals(self):
        """Yield each sentence with which a field of a body refuses a value, and the field."""
        for op in CALLS:
            for field in op.body.fields if op.body else ():
                body = bodies.Body('entity', (field,))
                for value in _BAD:
                    try:
                        body.parse(newest(op, field), {'entity': {field.name: value}})
                    except errors.Invalid as bad:
                        yield f'{op.name}.{field.name}', str(bad)

    def test_49_12_fields_of_bodies_refuse_in_plain_words(self):
        found = list(self.refusals())
        self.assertGreater(len(found), 3000)
        self.assertEqual(
            {}, {bad: f'{where}: {text}' for where, text in found if (bad := plain.objection(text))}
        )

    def test_49_12_fields_of_queries_refuse_in_plain_words(self):
        refused, seen = 0, set()
        for op in CALLS:
            path = re.sub(r'\{[^}]+\}', '0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a', op.path)
            for field in op.query if op.method == 'GET' else ():
                kind = field.name, str(field.schema), field.parse
                if kind in seen:
                    continue
                seen.add(kind)
                for value in ('x', '-1', '9' * 40, "it's", '[1', "{'a': None}", '2026-13-45', ''):
                    status, _, _ = self.admin.call(  # which looks at the sentence
                        'GET',
                        f'{path}?{urlencode({field.name: value})}',
                        version=versions.show(newest(op, field)),
                        headers={'X-OpenStack-Manila-API-Experimental': 'true'},
                    )
                    refused += status == 400
        self.assertGreater(refused, 100)

    def test_49_12_what_is_not_plain_is_found(self):
        for text in (
            'Share x is used by 1 shares.',
            'size: must be one of 1, 0, 1, 0.',
            "a: must be ['b'].",
            'x: invalid literal for int() with base 10',
            'name: None is not a name.',
            "Unrecognized value 'x', acceptable values are: '0'",
            'Subnet x has 1 addresses left.',
            "x: b'abc' is too long",
        ):
            self.assertIsNotNone(plain.objection(text), text)
        for text in (
            'Share x is used by 1 share.',
            '10.0.0.1 shares nothing.',
            "name: 'None' is taken.",
            '11 shares wait.',
            'must be True or False',
            'size: must be one of 1, 0.',
        ):
            self.assertIsNone(plain.objection(text), text)
