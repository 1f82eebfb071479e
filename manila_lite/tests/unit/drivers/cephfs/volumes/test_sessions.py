# SPDX-License-Identifier: Apache-2.0
"""The mark of ids whose sessions must still be ended."""

import testtools

from manila_lite.drivers.cephfs.volumes.sessions import Sessions, planned


class Marks(testtools.TestCase):
    def test_any_id_is_read_back_from_a_mark_of_plain_digits(self):
        kept = {}

        class Subvolumes:
            def mark(self, name, key, value):
                kept[key] = value
        Sessions(None, Subvolumes()).plan('s', ['b%s\n[', 'a'])
        self.assertRegex(next(iter(kept.values())), '^[0-9a-f]+$')
        self.assertEqual({'a', 'b%s\n['}, planned(kept))
        self.assertEqual(frozenset(), planned({}))
