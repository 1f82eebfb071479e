# SPDX-License-Identifier: Apache-2.0
"""Owners of parts."""

import types

import testtools

from manila_lite import context
from manila_lite.actions import owners


class OfPart(testtools.TestCase):
    def test_part_is_of_the_project_of_the_whole_and_of_its_user_or_of_a_caller_of_the_project(self):
        whole = types.SimpleNamespace(project_id='theirs', user_id='alice')
        for project, user, owner in (
            ('theirs', 'bob', ('theirs', 'bob')),
            ('keepers', 'root', ('theirs', 'alice')),
            (None, None, ('theirs', 'alice')),
        ):
            caller = context.RequestContext(project_id=project, user_id=user, overwrite=False)
            self.assertEqual(owner, owners.of_part(caller, whole))
