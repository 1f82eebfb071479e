# SPDX-License-Identifier: Apache-2.0
"""The list of microversions has no holes, and the contract names only versions on it."""

import re

import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.v2 import CALLS


def fields_of(op):
    """Yield every field in a call's query, body and view."""
    yield from op.query
    yield from op.body.fields if op.body else ()
    yield from getattr(getattr(op.view, 'view', None), 'fields', ())


class Versions(testtools.TestCase):
    def test_history_has_no_missing_versions(self):
        self.assertEqual(list(range(100)), list(versions.HISTORY))
        self.assertEqual((0, 99), (versions.MIN, versions.MAX))
        self.assertTrue(all(versions.HISTORY.values()))

    def test_versions_of_calls_and_fields_are_in_the_history(self):
        for op in CALLS:
            for thing in (op, *fields_of(op)):
                for text in (thing.since, thing.until):
                    if text is not None:
                        self.assertTrue(
                            re.fullmatch(r'2\.(0|[1-9]\d?)', text), (op.name, thing.since, thing.until)
                        )
                        self.assertIn(versions.minor(text), versions.HISTORY)
                if thing.until is not None:
                    self.assertLessEqual(
                        versions.minor(thing.since), versions.minor(thing.until), (op.name, thing)
                    )

    def test_field_names_are_unique_at_each_version(self):
        for op in CALLS:
            for group in (
                op.query,
                op.body.fields if op.body else (),
                getattr(getattr(op.view, 'view', None), 'fields', ()),
            ):
                for version in versions.HISTORY:
                    names = [
                        name
                        for field in group
                        if field.lives(version)
                        for name in (field.name, *field.aliases)
                    ]
                    self.assertEqual(len(names), len(set(names)), (op.name, version, names))
