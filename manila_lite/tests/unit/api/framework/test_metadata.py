# SPDX-License-Identifier: Apache-2.0
"""Calls for metadata: they answer under the name of their resource type, and compare the key of the path with the body."""

import types

import testtools

from manila_lite import errors
from manila_lite.api.framework.metadata import MetadataCalls, metadata_calls


class _Actions:
    """A stand-in for ``actions`` that keeps the pairs of one resource."""

    def __init__(self, **pairs):
        self.pairs = pairs

    def metadata(self, ctx, resource_id):
        return dict(self.pairs)

    def set_metadata(self, ctx, resource_id, *, values, replace):
        self.pairs = {**({} if replace else self.pairs), **values}
        return dict(self.pairs)


def _request(body=None, **params):
    return types.SimpleNamespace(ctx=None, body=body, params={'share_id': 's', **params})


class Metadata(testtools.TestCase):
    """A resource type that has metadata."""

    def setUp(self):
        super().setUp()
        self.actions = _Actions(a='1')
        self.calls = MetadataCalls(self.actions, ('share_id',))

    def test_metadata_calls_are_named_after_their_resource(self):
        found = {
            (op.method, op.path, op.name, op.policy)
            for op in metadata_calls('/shares/{share_id}', self.calls, 'share:{}_share_metadata')
        }
        self.assertEqual(6, len(found))
        self.assertIn(
            ('POST', '/shares/{share_id}/metadata/{key}', 'set_metadata_item', 'share:update_share_metadata'),
            found,
        )

    def test_merge_keeps_other_pairs_and_replace_removes_them(self):
        self.assertEqual({'a': '1', 'b': '2'}, self.calls.merge_metadata(_request({'b': '2'})))
        self.assertEqual({'c': '3'}, self.calls.replace_metadata(_request({'c': '3'})))

    def test_one_pair(self):
        self.assertEqual({'a': '1'}, self.calls.get_metadata_item(_request(key='a')))
        self.assertRaises(errors.NotFound, self.calls.get_metadata_item, _request(key='b'))
        self.assertEqual({'b': '2'}, self.calls.set_metadata_item(_request({'b': '2'}, key='b')))

    def test_the_body_must_hold_the_key_of_the_path(self):
        for body in ({'b': '2'}, {'a': '1', 'b': '2'}, {}):
            self.assertRaises(errors.Invalid, self.calls.set_metadata_item, _request(body, key='a'))
        self.assertEqual({'a': '1'}, self.actions.pairs)
