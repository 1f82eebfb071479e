# SPDX-License-Identifier: Apache-2.0
import testtools

from manila_lite import errors
from manila_lite.host import ids


class Ids(testtools.TestCase):
    def test_ids_that_are_no_file_names_are_refused(self):
        ids.vet_id('a-1')
        for resource_id in ('', '..', 'a/b', '.a', 'a\nb'):
            self.assertRaises(errors.Final, ids.vet_id, resource_id)
