# SPDX-License-Identifier: Apache-2.0
"""What is read from a list of sessions that holds words of clients."""

import json

import testtools

from manila_lite.drivers.cephfs.volumes import sessions

_TOLD = {
    'id': 4305,
    'entity': {'name': {'type': 'client', 'num': 4305}, 'addr': {'addr': '10.0.0.1:0'}},
    'state': 'open',
    'client_metadata': {'hostname': 'h', 'pid': '1', 'root': '/volumes/x'},
}


class Read(testtools.TestCase):
    def test_proper_list_is_read_also_with_keys_that_a_newer_release_has_escaped(self):
        told = {
            **_TOLD,
            'client_metadata': {**_TOLD['client_metadata'], 'x"y': 'z', 'a":"b","root":"/","c': 'd'},
        }
        self.assertEqual([told], sessions.read(json.dumps([told])))
        self.assertEqual([], sessions.read(''))

    def test_what_a_client_may_have_forged_is_refused(self):
        for text in (
            '[1]',
            '{}x',
            '"x"',
            'null',
            '[{}]',
            '[[]]',
            '[' * 99999,
            with_key('x"y'),  # breaks the list
            with_key('x":"","root":"/","y'),  # another directory
            with_key('x":""}},{"id":5,"x":{"y'),  # a session without what all have
            with_key('x":""},"id":7,"x":{"y'),
            with_key('x":""},"forged":{"y'),
        ):
            self.assertRaises(sessions.Unreadable, sessions.read, text)

    def test_session_that_two_others_hide_is_seen(self):
        """The first opens an array in a key of its own, and the last one closes it."""
        for opens, closes in (
            ('x":[{"a":{"y', 'x":""}}],"y'),
            (
                'x":""}},{"id":5,"client_metadata":{},"caps":[{"a":{"y',
                'x":""}}]},{"id":6,"client_metadata":{"y',
            ),
        ):
            text = f'[{",".join(with_key(key)[1:-1] for key in (opens, "hidden", closes))}]'
            self.assertNotIn('hidden', [key for one in json.loads(text) for key in one['client_metadata']])
            self.assertRaises(sessions.Unreadable, sessions.read, text)


def with_key(key):
    """Return the list of one session whose client has this key, as Ceph 16.2 tells it."""
    return json.dumps([{**_TOLD, 'client_metadata': {'KEY': '', **_TOLD['client_metadata']}}]).replace(
        'KEY', key
    )
