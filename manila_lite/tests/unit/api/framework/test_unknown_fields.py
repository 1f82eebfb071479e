# SPDX-License-Identifier: Apache-2.0
"""Unknown fields are taken out at every depth; open maps stay whole; the header holds any name."""

import testtools

from manila_lite.api.framework.unknown_fields import header, opened, take_out

_INNER = {'type': 'object', 'properties': {'b': {'type': 'string'}}, 'additionalProperties': False}
_SCHEMA = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {
        'a': {'type': 'array', 'items': _INNER},
        'in': _INNER,
        'map': {'type': 'object', 'additionalProperties': {'type': 'string'}},
        'n': {'type': 'integer'},
    },
}


class UnknownFields(testtools.TestCase):
    def test_they_are_taken_out_at_every_depth(self):
        ignored = []
        sent = {
            'a': [{'b': 'x'}, {'c': 1}],
            'in': {'b': 'y', 'd': 2},
            'map': {'any': 'z'},
            'n': {'wrong': 'type'},
            'e': 3,
        }
        self.assertEqual(
            {'a': [{'b': 'x'}, {}], 'in': {'b': 'y'}, 'map': {'any': 'z'}, 'n': {'wrong': 'type'}},
            take_out(_SCHEMA, sent, 'top', ignored),
        )
        self.assertEqual(['top.e', 'top.a.1.c', 'top.in.d'], ignored)

    def test_empty_ones_are_not_named(self):
        ignored = []
        self.assertEqual({'n': 1}, take_out(_SCHEMA, {'n': 1, 'x': None, 'y': {}, 'z': ''}, 'top', ignored))
        self.assertEqual(['top.z'], ignored)

    def test_what_has_another_type_is_left_for_validation(self):
        for sent in (None, 5, 'x', [], [{'b': 1}], True):
            self.assertEqual(sent, take_out(_SCHEMA, sent, 'top', []))

    def test_shown_schema_has_no_closed_objects(self):
        self.assertNotIn('False', str(opened(_SCHEMA)))
        self.assertEqual({'type': 'string'}, opened(_SCHEMA)['properties']['map']['additionalProperties'])

    def test_header_has_no_control_characters_and_an_end(self):
        self.assertEqual('share.a, b%0D%0AX%2C%20%C3%A4', header(['share.a', 'b\r\nX, ä']))
        self.assertEqual(21, len(header(str(number) for number in range(500)).split(', ')))
        for text in ('x', 'ä', '\n'):
            self.assertEqual(80, len(header([text * 5000])))
