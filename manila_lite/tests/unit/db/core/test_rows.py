# SPDX-License-Identifier: Apache-2.0
"""One row, or an error that names the resource."""

import sqlalchemy as sa
import testtools

from manila_lite import errors
from manila_lite.db.core import rows


class GetRow(testtools.TestCase):
    def setUp(self):
        super().setUp()
        engine = sa.create_engine('sqlite://')
        self.addCleanup(engine.dispose)
        self.conn = engine.connect()
        self.addCleanup(self.conn.close)

    def test_existing_row_is_returned(self):
        self.assertEqual(
            1, rows.get_row(self.conn, sa.select(sa.literal(1).label('size')), 'share group', 'an-id').size
        )

    def test_missing_row_raises_not_found_with_the_resource_name(self):
        none = sa.select(sa.literal(1)).where(sa.false())
        error = self.assertRaises(errors.NotFound, rows.get_row, self.conn, none, 'share group', 'an-id')
        self.assertEqual(
            ('Share group an-id could not be found.', 'share_group_not_found'), (str(error), error.code)
        )
