# SPDX-License-Identifier: Apache-2.0
"""Views and answers, made of fields that depend on API versions."""

import datetime
import types
import typing

import orjson
import testtools

from manila_lite.api.framework import shapes
from manila_lite.api.framework.fields import Always, Field, Many, One, Plain, View, compiled, encode


def moment(*parts):
    """Return a time without a zone, as rows of the database have it."""
    return datetime.datetime(*parts)  # noqa: DTZ001


ROW = types.SimpleNamespace(id='i', name='n', made=moment(2026, 1, 2, 3, 4, 5, 6), secret='s')
VIEW = View(
    'thing',
    'things',
    (
        Field('id', shapes.ID),
        Field('title', shapes.ID, read='name'),
        Field('made', shapes.TIME, since='2.9'),
        Field('twice', shapes.ID, until='2.8', read=lambda row, req: row.id * 2),
        Field('secret', shapes.ID, rule='see:secret'),
    ),
)


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
        for made, text in (
            (ROW.made, '2026-01-02T03:04:05.000006'),
            (moment(2026, 1, 2), '2026-01-02T00:00:00.000000'),
        ):
            self.assertEqual({'made': text}, orjson.loads(encode({'made': made})))
        self.assertRaises(TypeError, encode, {'made': object()})

    def test_constant_fields_are_shown_for_every_row(self):
        view = View(
            'thing', 'things', (Field('id', shapes.ID), Field('none', shapes.NULL_ID, read=Always(None)))
        )
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
        for answer, value in (
            (One(VIEW), ROW),
            (Many(VIEW), [ROW]),
            (Many(VIEW, counted=True, paged=True), [ROW, ROW]),
            (Many(VIEW), []),
            (Plain(shapes.PAIRS, 'meta'), {'a': 'b'}),
            (Plain({'type': 'object'}), {}),
        ):
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
        for bad in (
            {**good, 'more': 1},
            {},
            {'thing': {}},
            {'thing': {**good['thing'], 'more': 1}},
            {'thing': {**good['thing'], 'id': 5}},
        ):
            self.assertRaises(ValueError, fits, bad)

    def test_required_fields_of_a_document_are_required(self):
        schema = shapes.document({'a': shapes.ID}, {'b': shapes.ID})
        compiled(schema)({'a': 'x', 'b': 'y'})
        self.assertRaises(ValueError, compiled(schema), {'b': 'y'})
