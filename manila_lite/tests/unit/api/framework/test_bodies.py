# SPDX-License-Identifier: Apache-2.0
"""Bodies, made of fields that depend on API versions."""

import dataclasses

import testtools

from manila_lite import errors
from manila_lite.api.framework import shapes
from manila_lite.api.framework.bodies import Body
from manila_lite.api.framework.fields import Field

BODY = Body(
    'thing',
    (
        Field('name', {'type': 'string', 'maxLength': 5}, aliases=('display_name',)),
        Field('size', shapes.SIZE, required=True, parse=shapes.integer),
        Field('old', {'type': 'string'}, until='2.8'),
        Field('new', {'type': ['string', 'null']}, since='2.9'),
        Field('flag', shapes.NULL_FLAG, parse=shapes.flag),
    ),
    missing=errors.Unprocessable,
    strict=True,
)
#: The same, but unknown fields are ignored.
LOOSE = dataclasses.replace(BODY, strict=False)


class Bodies(testtools.TestCase):
    def refused(self, sent, version=50, body=BODY, kind=errors.Invalid):
        return str(self.assertRaises(kind, body.parse, version, sent))

    def test_values_are_read(self):
        self.assertEqual(
            {'name': 'a', 'size': 5, 'flag': True},
            BODY.parse(50, {'thing': {'name': 'a', 'size': '5', 'flag': 'yes'}}),
        )

    def test_fields_that_were_not_sent_are_absent(self):
        self.assertEqual({'size': 1, 'flag': None}, BODY.parse(50, {'thing': {'size': 1, 'flag': None}}))

    def test_an_alias_is_read_where_the_name_is_missing(self):
        self.assertEqual('a', BODY.parse(50, {'thing': {'size': 1, 'display_name': 'a'}})['name'])
        self.assertEqual(
            'b', BODY.parse(50, {'thing': {'size': 1, 'display_name': 'a', 'name': 'b'}})['name']
        )

    def test_body_without_the_entity_is_refused(self):
        for sent in (None, {}, [], 'thing', 5, {'thing': None}, {'other': {}}):
            self.refused(sent, kind=errors.Unprocessable)

    def test_messages_name_the_field(self):
        for sent, start in (
            ({'size': 0}, 'thing.size:'),
            ({'size': [], 'name': 'a'}, 'thing.size:'),
            ({'name': 'a'}, 'thing'),
            ({'size': 1, 'name': 'too long'}, 'thing.name:'),
            ({'size': 1, 'display_name': 7}, 'thing.display_name:'),
            ({'size': 1, 'flag': 'perhaps'}, 'thing.flag:'),
            ({'size': 1, 'nonsense': 1}, 'thing'),
        ):
            self.assertTrue(
                self.refused({'thing': sent}).startswith(start), (sent, self.refused({'thing': sent}))
            )

    def test_keys_beside_the_entity_are_refused(self):
        self.assertIn('more', self.refused({'thing': {'size': 1}, 'more': {}}))

    def test_fields_of_other_versions_are_accepted_only_if_null(self):
        self.assertEqual(
            {'size': 1, 'old': 'x'}, BODY.parse(8, {'thing': {'size': 1, 'old': 'x', 'new': None}})
        )
        self.refused({'thing': {'size': 1, 'new': 'x'}}, version=8)
        self.refused({'thing': {'size': 1, 'old': 'x'}}, version=9)
        self.assertEqual(
            {'size': 1, 'new': 'x'}, BODY.parse(9, {'thing': {'size': 1, 'new': 'x', 'old': None}})
        )

    def ignored(self, sent, version=50, body=LOOSE):
        found = []
        return body.parse(version, sent, found), found

    def test_unknown_fields_are_ignored_and_named(self):
        self.assertEqual(
            ({'size': 1}, ['beside', 'thing.nonsense']),
            self.ignored({'thing': {'size': 1, 'nonsense': {'a': 1}}, 'beside': 5}),
        )
        self.assertEqual(({'size': 1}, []), self.ignored({'thing': {'size': 1}}))
        self.assertIn('thing.size', self.refused({'thing': {'size': 0, 'nonsense': 1}}, body=LOOSE))

    def test_fields_to_come_are_ignored_and_fields_that_went_are_refused(self):
        self.assertEqual(
            ({'size': 1}, ['thing.new']), self.ignored({'thing': {'size': 1, 'new': 'x'}}, version=8)
        )
        self.refused({'thing': {'size': 1, 'old': 'x'}}, version=9, body=LOOSE)
        self.assertEqual(({'size': 1}, []), self.ignored({'thing': {'size': 1, 'old': None}}, version=9))

    def test_actions_have_one_key(self):
        self.assertIn('more', self.refused({'act': {'size': 1}, 'more': {}}, body=LOOSE.named('act')))

    def test_an_optional_body_may_be_empty(self):
        body = Body('act', (Field('force', shapes.FLAG, parse=shapes.flag),), optional=True)
        for sent in ({'act': None}, {'act': {}}):
            self.assertEqual({}, body.parse(0, sent))
        self.refused({}, body=body)

    def test_free_bodies_are_checked_by_their_schema(self):
        body = Body('meta', free=shapes.METADATA, keys=('metadata',))
        self.assertEqual({'a': 'b'}, body.parse(0, {'meta': {'a': 'b'}}))
        self.assertEqual({'a': 'b'}, body.parse(0, {'metadata': {'a': 'b'}}))
        for entity in ({'a': 1}, {'': 'b'}, {'a': ''}, {'a': None}, [], {'a': 'x' * 1024}, {'k' * 256: 'v'}):
            self.refused({'meta': entity}, body=body)

    def test_a_renamed_body_reads_the_same(self):
        self.assertEqual({'size': 1}, BODY.named('os-thing').parse(0, {'os-thing': {'size': 1}}))
