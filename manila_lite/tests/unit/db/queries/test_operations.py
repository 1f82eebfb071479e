# SPDX-License-Identifier: Apache-2.0
"""The class of an operation's row has the columns of the table by their keys, in their order: rows are made by position."""

import testtools

from manila_lite.db.models import operations as table
from manila_lite.db.queries import operations


class RowTest(testtools.TestCase):
    def test_a_row_has_the_columns_of_the_table(self):
        self.assertEqual(tuple(table.c.keys()), operations.Operation._fields)

    def test_a_value_that_may_be_missing_says_so(self):
        optional = {
            name for name, kind in operations.Operation.__annotations__.items() if 'None' in str(kind)
        }
        self.assertEqual({name for name, column in table.c.items() if column.nullable}, optional)
