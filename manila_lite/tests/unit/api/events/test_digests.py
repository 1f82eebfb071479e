# SPDX-License-Identifier: Apache-2.0

import dataclasses

import testtools

from manila_lite.api.events.audience import Audience
from manila_lite.api.events.digests import Digests

_CENSUS = {
    ('share_network', 'n1', 'a'),
    ('share_network', 'n2', 'b'),
    ('pool', 'h@x#p', ''),
    ('service', 'manila-share h', ''),
}
_READER = Audience('a', False, False, frozenset(), 99, ('', ''), None)
_ADMIN = dataclasses.replace(
    _READER,
    is_admin=True,
    everybody=True,
    allowed=frozenset(('scheduler_stats:pools:detail', 'service:index')),
)


class Changes(testtools.TestCase):
    def differs(self, audience, *changed):
        return Digests(_CENSUS).of(audience) != Digests(_CENSUS ^ set(changed)).of(audience)

    def test_own_rows_count_and_no_others(self):
        self.assertTrue(self.differs(_READER, ('share_network', 'n1', 'a')))
        self.assertTrue(self.differs(_READER, ('share_transfer', 's', 'a')))
        for other in (('share_network', 'n2', 'b'), ('pool', 'h@x#p', ''), ('service', 'manila-share h', '')):
            self.assertFalse(self.differs(_READER, other), other)

    def test_all_rows_count_for_an_administrator_of_all_projects(self):
        for row in _CENSUS:
            self.assertTrue(self.differs(_ADMIN, row), row)

    def test_order_does_not_count(self):
        rows = sorted(_CENSUS)
        self.assertEqual(Digests(rows).of(_ADMIN), Digests(rows[::-1]).of(_ADMIN))

    def test_caller_without_a_project_has_no_rows(self):
        nobody = dataclasses.replace(_READER, project_id='')
        self.assertEqual('00000000', Digests(_CENSUS).of(nobody))
