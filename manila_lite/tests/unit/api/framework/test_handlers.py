# SPDX-License-Identifier: Apache-2.0
"""Handlers as data: which parts of a request the named function gets, and what is shown of its answer."""

import contextlib
import types

import testtools

from manila_lite.api.framework import handlers


def _request(body=None, query=None, version=0, **params):
    db = types.SimpleNamespace(reader=lambda: contextlib.nullcontext('conn'))
    ctx = types.SimpleNamespace(db=db)
    return types.SimpleNamespace(
        ctx=ctx, body=body, query=query or {}, version=version, params=params, page='page', related={}
    )


def _all(*args, **named):
    return args, named


class Acts(testtools.TestCase):
    def test_action_gets_caller_and_parts(self):
        call = handlers.act('Do.', _all, handlers.path('share_id'), handlers.field('size'), handlers.BODY)
        req = _request({'size': 3}, share_id='s')
        self.assertEqual(((req.ctx, 's', 3, {'size': 3}), {}), call(req))

    def test_parts_that_a_request_may_lack(self):
        call = handlers.act(
            'Do.', _all, handlers.optional('reason'), handlers.query('of'), force=handlers.flag('force')
        )
        req = _request({})
        self.assertEqual(((req.ctx, None, None), {'force': False}), call(req))
        req = _request({'reason': 'r', 'force': 1}, {'of': 'o'})
        self.assertEqual(((req.ctx, 'r', 'o'), {'force': True}), call(req))

    def test_constants_and_versions(self):
        call = handlers.act('Do.', _all, new=handlers.since(9), force=True)
        for version, new in ((8, False), (9, True), (10, True)):
            self.assertEqual({'new': new, 'force': True}, call(_request(version=version))[1])

    def test_name_and_summary_are_those_of_documents(self):
        call = handlers.act('Do it.', _all)
        self.assertEqual(('_all', 'Do it.'), (call.__name__, call.__doc__))
        self.assertEqual('other', handlers.act('Do it.', _all, name='other').__name__)

    def test_answer_of_the_action_is_shown_as_then_says(self):
        made = types.SimpleNamespace(id='s'), {'a': '1'}
        call = handlers.act('Do.', lambda ctx: made, then=handlers.with_pairs)
        req = _request()
        self.assertIs(made[0], call(req))
        self.assertEqual({'metadata': {'s': {'a': '1'}}}, req.related)
        loads = []
        call = handlers.act('Do.', lambda ctx: 'row', then=handlers.loaded(lambda *args: loads.append(args)))
        req = _request()
        self.assertEqual('row', call(req))
        self.assertEqual([('conn', req, ['row'])], loads)


class Reads(testtools.TestCase):
    def test_related_data_is_loaded_for_a_row_and_for_rows(self):
        for answer, rows in (('row', ['row']), (['a', 'b'], ['a', 'b']), ([], [])):
            loads = []
            call = handlers.read(
                'Show.',
                lambda conn, ctx, page, answer=answer: answer,
                handlers.CTX,
                handlers.PAGING,
                name='show',
                load=lambda conn, req, found, loads=loads: loads.append(found),
            )
            self.assertEqual(answer, call(_request()))
            self.assertEqual([rows], loads)
