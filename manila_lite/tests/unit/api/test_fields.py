# SPDX-License-Identifier: Apache-2.0
"""Bodies, views and answers, made of fields that depend on API versions."""

import dataclasses
import datetime
import types
import typing

import orjson
import testtools

from manila_lite import errors
from manila_lite.api.contract import shapes
from manila_lite.api.contract.fields import Always, Body, Field, Many, One, Plain, View, compiled, document, encode


def moment(*parts):
    """Return a time without a zone, as rows of the database have it."""
    return datetime.datetime(*parts)    # noqa: DTZ001


BODY = Body('thing', (
    Field('name', {'type': 'string', 'maxLength': 5}, aliases=('display_name',)),
    Field('size', shapes.SIZE, required=True, parse=shapes.integer),
    Field('old', {'type': 'string'}, until='2.8'),
    Field('new', {'type': ['string', 'null']}, since='2.9'),
    Field('flag', shapes.NULL_FLAG, parse=shapes.flag),
), missing=errors.Unprocessable, strict=True)
#: The same, but unknown fields are ignored.
LOOSE = dataclasses.replace(BODY, strict=False)


class Bodies(testtools.TestCase):

    def refused(self, sent, version=50, body=BODY, kind=errors.Invalid):
        return str(self.assertRaises(kind, body.parse, version, sent))

    def test_values_are_read(self):
        self.assertEqual({'name': 'a', 'size': 5, 'flag': True},
                         BODY.parse(50, {'thing': {'name': 'a', 'size': '5', 'flag': 'yes'}}))

    def test_fields_that_were_not_sent_are_absent(self):
        self.assertEqual({'size': 1, 'flag': None}, BODY.parse(50, {'thing': {'size': 1, 'flag': None}}))

    def test_an_alias_is_read_where_the_name_is_missing(self):
        self.assertEqual('a', BODY.parse(50, {'thing': {'size': 1, 'display_name': 'a'}})['name'])
        self.assertEqual('b', BODY.parse(50, {'thing': {'size': 1, 'display_name': 'a', 'name': 'b'}})['name'])

    def test_body_without_the_entity_is_refused(self):
        for sent in (None, {}, [], 'thing', 5, {'thing': None}, {'other': {}}):
            self.refused(sent, kind=errors.Unprocessable)

    def test_messages_name_the_field(self):
        for sent, start in (({'size': 0}, 'thing.size:'), ({'size': [], 'name': 'a'}, 'thing.size:'), ({'name': 'a'}, 'thing'),
                            ({'size': 1, 'name': 'too long'}, 'thing.name:'),
                            ({'size': 1, 'display_name': 7}, 'thing.display_name:'),
                            ({'size': 1, 'flag': 'perhaps'}, 'thing.flag:'), ({'size': 1, 'nonsense': 1}, 'thing')):
            self.assertTrue(self.refused({'thing': sent}).startswith(start), (sent, self.refused({'thing': sent})))

    def test_keys_beside_the_entity_are_refused(self):
        self.assertIn('more', self.refused({'thing': {'size': 1}, 'more': {}}))

    def test_fields_of_other_versions_are_accepted_only_if_null(self):
        self.assertEqual({'size': 1, 'old': 'x'}, BODY.parse(8, {'thing': {'size': 1, 'old': 'x', 'new': None}}))
        self.refused({'thing': {'size': 1, 'new': 'x'}}, version=8)
        self.refused({'thing': {'size': 1, 'old': 'x'}}, version=9)
        self.assertEqual({'size': 1, 'new': 'x'}, BODY.parse(9, {'thing': {'size': 1, 'new': 'x', 'old': None}}))

    def ignored(self, sent, version=50, body=LOOSE):
        found = []
        return body.parse(version, sent, found), found

    def test_unknown_fields_are_ignored_and_named(self):
        self.assertEqual(({'size': 1}, ['beside', 'thing.nonsense']),
                         self.ignored({'thing': {'size': 1, 'nonsense': {'a': 1}}, 'beside': 5}))
        self.assertEqual(({'size': 1}, []), self.ignored({'thing': {'size': 1}}))
        self.assertIn('thing.size', self.refused({'thing': {'size': 0, 'nonsense': 1}}, body=LOOSE))

    def test_fields_to_come_are_ignored_and_fields_that_went_are_refused(self):
        self.assertEqual(({'size': 1}, ['thing.new']), self.ignored({'thing': {'size': 1, 'new': 'x'}}, version=8))
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


ROW = types.SimpleNamespace(id='i', name='n', made=moment(2026, 1, 2, 3, 4, 5, 6), secret='s')
VIEW = View('thing', 'things', (
    Field('id', shapes.ID), Field('title', shapes.ID, read='name'), Field('made', shapes.TIME, since='2.9'),
    Field('twice', shapes.ID, until='2.8', read=lambda row, req: row.id * 2), Field('secret', shapes.ID, rule='see:secret')))


class Asking:
    """A request, with the attributes that views read."""

    def __init__(self, version, rules=(), count=None, following=None):
        self.version, self.count = version, count
        self._rules, self._following = rules, following

    def may(self, rule):
        return rule in self._rules

    def linked(self, collection):
        return lambda resource_id: [{'rel': 'self', 'href': f'/{collection}/{resource_id}'}]

    def next_page(self, found):
        return self._following


class Views(testtools.TestCase):

    def test_fields_are_shown_at_their_versions(self):
        self.assertEqual({'id': 'i', 'title': 'n', 'twice': 'ii'}, VIEW.render(ROW, Asking(8)))
        self.assertEqual({'id': 'i', 'title': 'n', 'made': ROW.made}, VIEW.render(ROW, Asking(9)))

    def test_times_have_microseconds_always(self):
        for made, text in ((ROW.made, '2026-01-02T03:04:05.000006'), (moment(2026, 1, 2), '2026-01-02T00:00:00.000000')):
            self.assertEqual({'made': text}, orjson.loads(encode({'made': made})))
        self.assertRaises(TypeError, encode, {'made': object()})

    def test_constant_fields_are_shown_for_every_row(self):
        view = View('thing', 'things', (Field('id', shapes.ID), Field('none', shapes.NULL_ID, read=Always(None))))
        self.assertEqual([{'id': 'i', 'none': None}] * 2, view.render_all([ROW, ROW], Asking(0)))

    def test_rows_of_a_database_are_read_like_objects(self):
        class Row(typing.NamedTuple):
            more: int
            made: datetime.datetime
            secret: str
            name: str
            id: str

        row = Row(more=5, **vars(ROW))
        for version in (8, 9):
            self.assertEqual(VIEW.render(ROW, Asking(version)), VIEW.render(row, Asking(version)))
        self.assertEqual([VIEW.render(row, Asking(9))] * 2, VIEW.render_all([row, row], Asking(9)))

    def test_field_with_a_rule_is_shown_to_permitted_callers(self):
        self.assertEqual('s', VIEW.render(ROW, Asking(9, ('see:secret',)))['secret'])

    def test_links_point_to_the_resource(self):
        linked = View('thing', 'things', (Field('id', shapes.ID),), 'things')
        self.assertEqual('/things/i', linked.render(ROW, Asking(0))['links'][0]['href'])
        self.assertIn('links', linked.schema(0)['required'])

    def test_answers_fit_their_schemas(self):
        asking = Asking(9, ('see:secret',), count=1, following='/next')
        for answer, value in ((One(VIEW), ROW), (Many(VIEW), [ROW]), (Many(VIEW, counted=True, paged=True), [ROW, ROW]),
                              (Many(VIEW), []), (Plain(shapes.PAIRS, 'meta'), {'a': 'b'}), (Plain({'type': 'object'}), {})):
            compiled(answer.schema(9))(orjson.loads(encode(answer.render(value, asking))))

    def test_list_shows_its_count_and_the_next_page(self):
        answer = Many(VIEW, counted=True, paged=True)
        shown = answer.render([ROW], Asking(9, count=7, following='/next'))
        self.assertEqual((7, [{'rel': 'next', 'href': '/next'}]), (shown['count'], shown['things_links']))
        self.assertEqual(['things'], list(answer.render([], Asking(9))))

    def test_schemas_refuse_unknown_missing_and_mistyped_fields(self):
        fits = compiled(One(VIEW).schema(9))
        good = orjson.loads(encode(One(VIEW).render(ROW, Asking(9))))
        fits(good)
        for bad in ({**good, 'more': 1}, {}, {'thing': {}}, {'thing': {**good['thing'], 'more': 1}},
                    {'thing': {**good['thing'], 'id': 5}}):
            self.assertRaises(ValueError, fits, bad)

    def test_required_fields_of_a_document_are_required(self):
        schema = document({'a': shapes.ID}, {'b': shapes.ID})
        compiled(schema)({'a': 'x', 'b': 'y'})
        self.assertRaises(ValueError, compiled(schema), {'b': 'y'})
