# SPDX-License-Identifier: Apache-2.0
"""Sentences about documents that do not fit: no notation of Python, and each names the field."""

import testtools

from manila_lite import errors
from manila_lite.api.framework import fields, shapes

_OBJECT = {'type': 'object', 'properties': {'a': {}}, 'additionalProperties': False}
_SAID = (
    (_OBJECT, {'foo': 1}, 'body: must not have the field foo.'),
    (_OBJECT, {'foo': 1, 'a': 1, 'bar': 2}, 'body: must not have the fields bar, foo.'),
    (_OBJECT, {'new\nline': 1}, 'body: must not have the field "new\\nline".'),
    (_OBJECT, {'x' * 5000: 1}, f'body: must not have the field {"x" * 80}....'),
    (_OBJECT, {'': 1}, 'body: must not have the field "".'),
    ({'type': 'object', 'required': ['a', 'b']}, {}, 'body: must have the fields a, b.'),
    ({'type': 'object', 'required': ['a', 'b']}, {'a': 1}, 'body: must have the field b.'),
    (
        {'type': 'object', 'properties': {'share': _OBJECT}},
        {'share': {'foo': 1}},
        'share: must not have the field foo.',
    ),
    ({'enum': ['ro', 'rw', None, True]}, 'x', 'body: must be one of ro, rw, null, true.'),
    ({'type': 'string', 'pattern': '^a$'}, 'x', 'body: must match the pattern ^a$.'),
    ({'const': None}, 1, 'body: must be null.'),
    (
        {'anyOf': [{'type': 'string'}, {'type': 'null'}]},
        1,
        'body: has none of the forms that are allowed here.',
    ),
    (
        {'type': 'object', 'patternProperties': {'^a$': {}}, 'additionalProperties': False},
        {'b': 1},
        'body: has a field whose name is not allowed.',
    ),
    (
        {'type': 'object', 'propertyNames': {'pattern': '^a$'}},
        {'a': 1, 'b': 1},
        'body: must not have the key b.',
    ),
    (
        {'type': 'object', 'propertyNames': {'minLength': 1, 'maxLength': 3}},
        {'a': 1, '': 1},
        'body: has the key "" of 0 characters; a key has 1 to 3.',
    ),
    (
        shapes.METADATA,
        {'a': 'b', 'a/../b': 'c'},
        'body: must not have the key a/../b: no part between slashes may be . or .., which no URL can name.',
    ),
    ({'type': ['string', 'null']}, 1, 'body: must be string or null.'),
)


class Sentences(testtools.TestCase):
    def test_sentences_have_no_notation_of_python(self):
        for schema, document, said in _SAID:
            refused = self.assertRaises(errors.Invalid, fields.check, fields.compiled(schema), document)
            self.assertEqual(said, str(refused))
